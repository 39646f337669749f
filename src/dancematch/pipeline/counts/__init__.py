"""Eight-counts: the beats of a dance, from its sound track or from its movement, and how to name them."""
