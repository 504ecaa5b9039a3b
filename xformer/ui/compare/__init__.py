"""The Compare tab: `tab` lays it out, each other module is a part of it."""
