// Variables of the process's environment that say where code or files come from.
#ifndef LEAT_BASE_ENVIRONMENT_H_
#define LEAT_BASE_ENVIRONMENT_H_

// The value of |name|. NULL when it is not set, and in a program that has more rights than the user
// who started it (set-uid, set-gid, with capabilities): there the environment is the user's, and
// must not choose what the program loads, where it writes or whom it connects to. Valid until the
// environment is changed.
const char* leat_environment_get_trusted(const char* name);

#endif  // LEAT_BASE_ENVIRONMENT_H_
