// Leat's front door: the macros every header of the C API shares.

#ifndef TENSORFLOW_C_C_API_MACROS_H_
#define TENSORFLOW_C_C_API_MACROS_H_

#include <stddef.h>

// Marks a function as part of the library's exported surface. The library is built with hidden
// visibility, so nothing without this mark can be linked against. A program that wants to probe at
// run time for functions of newer versions may define TF_CAPI_WEAK before it includes any header:
// a function the library lacks then has the address NULL instead of failing the link.
#ifdef TF_CAPI_WEAK
#define TF_CAPI_EXPORT __attribute__((visibility("default"))) __attribute__((weak))
#else
#define TF_CAPI_EXPORT __attribute__((visibility("default")))
#endif

// A C boolean with a fixed size of one byte: 0 is false, anything else is true. Not to be confused
// with TF_BOOL, the data type of a tensor's elements.
#ifndef TF_Bool
#define TF_Bool unsigned char
#endif

// Bytes from the start of TYPE to the end of MEMBER. Versioned structs carry the value for their
// last known member in a leading |struct_size|, by which the reader knows which members the writer
// had.
#ifndef TF_OFFSET_OF_END
#define TF_OFFSET_OF_END(TYPE, MEMBER) (offsetof(TYPE, MEMBER) + sizeof(((TYPE*)0)->MEMBER))
#endif

#endif  // TENSORFLOW_C_C_API_MACROS_H_
