"""Reading and merging the ``lockbox.json`` of Lockbox."""
