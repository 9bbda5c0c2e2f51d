"""Commands of the command line that this source brings, one file each."""
