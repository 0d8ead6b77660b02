// Which version this is, and which TensorFlow it stands in for.
#include "leat/inspect.h"

const char* leat_version(void) { return LEAT_VERSION; }

const char* TF_Version(void) { return "2.21.0"; }
