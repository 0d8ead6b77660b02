"""What programs use beside graphs: files, logging, flags."""
