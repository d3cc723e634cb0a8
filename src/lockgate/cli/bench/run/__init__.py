"""What the gate costs, measured on this machine: ``lockgate bench``, and the load of ``evals/load``.

``stories`` is what agents ask. ``gates`` starts gates in throw-away folders. ``load`` asks them as fast as they answer
or at a stated rate. ``processes`` and ``inside`` time what runs once; ``report`` and ``plot`` tell it.
"""
