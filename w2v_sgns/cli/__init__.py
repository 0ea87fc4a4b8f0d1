"""The command `w2v`. A verb parses, calls the library and prints; only this layer prints."""
