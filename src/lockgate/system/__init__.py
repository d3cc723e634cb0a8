"""What the operating system and plain files give. No policy is in it."""
