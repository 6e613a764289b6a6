"""Tools that kill, cut and overload servers, and check that nothing that was committed is lost."""
