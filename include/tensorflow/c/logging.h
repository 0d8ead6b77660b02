// Lines for people, in the library's own log: on stderr, as LEAT_LOG (off, error, warning, info,
// debug; warning unless set) lets them pass. |fmt| is printf's.

#ifndef TENSORFLOW_C_LOGGING_H_
#define TENSORFLOW_C_LOGGING_H_

#include "tensorflow/c/c_api_macros.h"

#ifdef __cplusplus
extern "C" {
#endif

// TF_FATAL is logged as an error; unlike in TensorFlow the process goes on.
typedef enum TF_LogLevel {
  TF_INFO = 0,
  TF_WARNING = 1,
  TF_ERROR = 2,
  TF_FATAL = 3,
} TF_LogLevel;

TF_CAPI_EXPORT void TF_Log(TF_LogLevel level, const char* fmt, ...);
// Level 0 is information, all others are for finding faults.
TF_CAPI_EXPORT void TF_VLog(int level, const char* fmt, ...);
// The same, in debug builds of the library only.
TF_CAPI_EXPORT void TF_DVLog(int level, const char* fmt, ...);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_LOGGING_H_
