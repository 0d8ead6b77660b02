// Lists of types for the constraints of kernel rows, as the CPU kernels of TensorFlow have them. A
// list is the text of a set of types; a row puts the name of the op's type attribute before it:
//
//   .constraints = "T: " LEAT_TYPES_NUMBER
//
// Each list contains the one before it, but for the 8-bit floats, which stand apart because few
// kernels take them. The order of the names has no meaning.
#ifndef LEAT_OPS_ARRAY_TYPES_H_
#define LEAT_OPS_ARRAY_TYPES_H_

// What indices, sizes and axes may be.
#define LEAT_TYPES_INDEX "int32, int64"
// Numbers that have an order; numbers; what is copied as bytes; strings too; everything.
#define LEAT_TYPES_REAL                                                                     \
  "float, double, int32, int64, half, bfloat16, int8, int16, uint8, uint16, uint32, uint64"
#define LEAT_TYPES_NUMBER LEAT_TYPES_REAL ", complex64, complex128"
#define LEAT_TYPES_PLAIN LEAT_TYPES_NUMBER ", bool"
#define LEAT_TYPES_STRINGS LEAT_TYPES_PLAIN ", string"
#define LEAT_TYPES_ALL LEAT_TYPES_STRINGS ", resource, variant"
#define LEAT_TYPES_FLOAT8 "float8_e4m3fn, float8_e5m2"

#endif  // LEAT_OPS_ARRAY_TYPES_H_
