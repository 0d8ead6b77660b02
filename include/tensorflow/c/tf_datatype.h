// The element types of tensors.

#ifndef TENSORFLOW_C_TF_DATATYPE_H_
#define TENSORFLOW_C_TF_DATATYPE_H_

#include <stddef.h>

#include "tensorflow/c/c_api_macros.h"

#ifdef __cplusplus
extern "C" {
#endif

// What one element of a tensor is. The numbers are those of the DataType enum in the protocol
// buffer messages, so a value may be cast either way. A type plus 100 is the "reference to" form,
// which graphs with Variable (not VarHandleOp) report for the outputs that can be assigned to.
//
// Quantized types are stored as the plain integer of the same width; what it means is up to the
// ops, which carry minimum and maximum beside it.
typedef enum TF_DataType {
  TF_FLOAT = 1,   // IEEE 754 binary32
  TF_DOUBLE = 2,  // IEEE 754 binary64
  TF_INT32 = 3,   // kept in host memory by most devices: usually a shape or an index
  TF_UINT8 = 4,
  TF_INT16 = 5,
  TF_INT8 = 6,
  TF_STRING = 7,     // TF_TString, see tf_tstring.h
  TF_COMPLEX64 = 8,  // two floats: real, imaginary
  TF_COMPLEX = 8,    // the name TF_COMPLEX64 had first
  TF_INT64 = 9,
  TF_BOOL = 10,  // one byte, 0 or 1
  TF_QINT8 = 11,
  TF_QUINT8 = 12,
  TF_QINT32 = 13,
  TF_BFLOAT16 = 14,  // the upper half of a binary32
  TF_QINT16 = 15,
  TF_QUINT16 = 16,
  TF_UINT16 = 17,
  TF_COMPLEX128 = 18,  // two doubles: real, imaginary
  TF_HALF = 19,        // IEEE 754 binary16
  TF_RESOURCE = 20,    // a handle to state that lives on a device
  TF_VARIANT = 21,     // a value of a type that only its ops know
  TF_UINT32 = 22,
  TF_UINT64 = 23,
  // One-byte floats, EeMm: e exponent bits, m mantissa bits. FN: no infinities. UZ: a single NaN,
  // in the place of minus zero. B11: exponent bias 11.
  TF_FLOAT8_E5M2 = 24,
  TF_FLOAT8_E4M3FN = 25,
  TF_FLOAT8_E4M3FNUZ = 26,
  TF_FLOAT8_E4M3B11FNUZ = 27,
  TF_FLOAT8_E5M2FNUZ = 28,
  // Types narrower than a byte. In memory each element takes a whole byte.
  TF_INT4 = 29,
  TF_UINT4 = 30,
  TF_INT2 = 31,
  TF_UINT2 = 32,
  TF_FLOAT4_E2M1FN = 33,
} TF_DataType;

// Bytes that one element of |dt| takes in memory. 0 for the types whose elements have no fixed
// content (TF_STRING, TF_RESOURCE, TF_VARIANT), for reference types and for numbers that are no
// type. Never fails; any thread.
TF_CAPI_EXPORT size_t TF_DataTypeSize(TF_DataType dt);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_TF_DATATYPE_H_
