// Without a file like this one, the compiler wants the linked functions to have bodies.
