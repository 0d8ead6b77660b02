// A shape as an object of its own.

#ifndef TENSORFLOW_C_TF_SHAPE_H_
#define TENSORFLOW_C_TF_SHAPE_H_

#include <stdint.h>

#include "tensorflow/c/c_api_macros.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TF_Shape TF_Shape;

// Of unknown rank; there is no function that sets it. NULL when memory runs out.
TF_CAPI_EXPORT TF_Shape* TF_NewShape(void);

// The rank; -1 when it is unknown.
TF_CAPI_EXPORT int TF_ShapeDims(const TF_Shape* shape);

// Size |d|; -1 when it is unknown or there is none.
TF_CAPI_EXPORT int64_t TF_ShapeDimSize(const TF_Shape* shape, int d);

// NULL is ignored.
TF_CAPI_EXPORT void TF_DeleteShape(TF_Shape* shape);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_TF_SHAPE_H_
