// families.h: the family of an op and what its row says about it, for make_ops.cc.
#ifndef LEAT_CPP_FAMILIES_H_
#define LEAT_CPP_FAMILIES_H_

#ifdef __cplusplus
extern "C" {
#endif

// Static texts; both are NULL for an op of no family.
typedef struct cpp_op_place_t {
  const char* family;
  const char* about;
} cpp_op_place_t;
cpp_op_place_t cpp_op_place(const char* op);

#ifdef __cplusplus
}
#endif

#endif  // LEAT_CPP_FAMILIES_H_
