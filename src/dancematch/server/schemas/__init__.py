"""The answers of the service: each is described once, as the class that it is made with."""
