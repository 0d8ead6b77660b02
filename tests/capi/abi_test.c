// The binary interface of the front door: what a program compiled against TensorFlow 2.21's headers
// takes for granted. Such a program has sizes, offsets and numbers compiled into it and would
// misread a struct that differs by one field. Layouts are checked by the compiler, so that a header
// that drifts does not build; the values of enums are compared with tables at run time, where all
// that differ can be named. tstring_test.c runs the functions that live in a header.
//
// Nothing here links against the library: the subject is the headers alone.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tensorflow/c/c_api.h"

// --- Layouts ---------------------------------------------------------------------------------

#define CHECK_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "size of " #type)
#define CHECK_AT(type, member, bytes) \
  _Static_assert(offsetof(type, member) == (bytes), "place of " #type "." #member)

_Static_assert(sizeof(void*) == 8 && sizeof(size_t) == 8, "the figures below are for LP64");

CHECK_SIZE(TF_Output, 16);
CHECK_AT(TF_Output, oper, 0);
CHECK_AT(TF_Output, index, 8);

CHECK_SIZE(TF_Input, 16);
CHECK_AT(TF_Input, oper, 0);
CHECK_AT(TF_Input, index, 8);

CHECK_SIZE(TF_Buffer, 24);
CHECK_AT(TF_Buffer, data, 0);
CHECK_AT(TF_Buffer, length, 8);
CHECK_AT(TF_Buffer, data_deallocator, 16);

CHECK_SIZE(TF_AttrMetadata, 32);
CHECK_AT(TF_AttrMetadata, is_list, 0);
CHECK_AT(TF_AttrMetadata, list_size, 8);
CHECK_AT(TF_AttrMetadata, type, 16);
CHECK_AT(TF_AttrMetadata, total_size, 24);

CHECK_SIZE(TF_WhileParams, 72);
CHECK_AT(TF_WhileParams, ninputs, 0);
CHECK_AT(TF_WhileParams, cond_graph, 8);
CHECK_AT(TF_WhileParams, cond_inputs, 16);
CHECK_AT(TF_WhileParams, cond_output, 24);
CHECK_AT(TF_WhileParams, body_graph, 40);
CHECK_AT(TF_WhileParams, body_inputs, 48);
CHECK_AT(TF_WhileParams, body_outputs, 56);
CHECK_AT(TF_WhileParams, name, 64);

CHECK_SIZE(TF_StringView, 16);
CHECK_AT(TF_StringView, data, 0);
CHECK_AT(TF_StringView, len, 8);

CHECK_SIZE(TF_AllocatorAttributes, 16);
CHECK_AT(TF_AllocatorAttributes, on_host, 8);
_Static_assert(TF_ALLOCATOR_ATTRIBUTES_STRUCT_SIZE == 9, "end of the last member, not of padding");

CHECK_SIZE(TF_TString, 24);
CHECK_SIZE(TF_TString_Union, 24);
CHECK_SIZE(TF_TString_Raw, 24);
CHECK_SIZE(TF_TString_Small, 24);
CHECK_AT(TF_TString, u.smll.size, 0);
CHECK_AT(TF_TString, u.smll.str, 1);
CHECK_SIZE(TF_TString_Large, 24);
CHECK_AT(TF_TString, u.large.size, 0);
CHECK_AT(TF_TString, u.large.cap, 8);
CHECK_AT(TF_TString, u.large.ptr, 16);
CHECK_SIZE(TF_TString_Offset, 12);
CHECK_AT(TF_TString, u.offset.size, 0);
CHECK_AT(TF_TString, u.offset.offset, 4);
CHECK_AT(TF_TString, u.offset.count, 8);
CHECK_SIZE(TF_TString_View, 24);
CHECK_AT(TF_TString, u.view.size, 0);
CHECK_AT(TF_TString, u.view.ptr, 8);
CHECK_AT(TF_TString, u.view.owner_ref, 16);
_Static_assert(_Alignof(TF_TString) == 8, "elements of a string tensor lie 24 bytes apart");
_Static_assert(TF_TString_SmallCapacity == 22, "longest string kept in place");

CHECK_SIZE(TStringOwnerCApi, 24);
CHECK_AT(TStringOwnerCApi, ref, 0);
CHECK_AT(TStringOwnerCApi, unref, 8);
CHECK_AT(TStringOwnerCApi, obj, 16);

CHECK_SIZE(TF_Bool, 1);
CHECK_SIZE(TF_Code, 4);
CHECK_SIZE(TF_DataType, 4);
CHECK_SIZE(TF_AttrType, 4);
CHECK_SIZE(TF_TString_Type, 4);

// --- Enum values -----------------------------------------------------------------------------

typedef struct constant_t {
  const char* name;
  int value;
  int expected;
} constant_t;

#define CONSTANT(name, expected) {#name, (int)(name), expected}

static void check_constants(const constant_t* constants, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (constants[i].value != constants[i].expected) {
      fail_msg("%s is %d, must be %d", constants[i].name, constants[i].value,
               constants[i].expected);
    }
  }
}

#define CHECK_CONSTANTS(table) check_constants(table, sizeof(table) / sizeof((table)[0]))

static void codes_have_tensorflows_values(void** state) {
  (void)state;
  static const constant_t kCodes[] = {
      CONSTANT(TF_OK, 0),
      CONSTANT(TF_CANCELLED, 1),
      CONSTANT(TF_UNKNOWN, 2),
      CONSTANT(TF_INVALID_ARGUMENT, 3),
      CONSTANT(TF_DEADLINE_EXCEEDED, 4),
      CONSTANT(TF_NOT_FOUND, 5),
      CONSTANT(TF_ALREADY_EXISTS, 6),
      CONSTANT(TF_PERMISSION_DENIED, 7),
      CONSTANT(TF_RESOURCE_EXHAUSTED, 8),
      CONSTANT(TF_FAILED_PRECONDITION, 9),
      CONSTANT(TF_ABORTED, 10),
      CONSTANT(TF_OUT_OF_RANGE, 11),
      CONSTANT(TF_UNIMPLEMENTED, 12),
      CONSTANT(TF_INTERNAL, 13),
      CONSTANT(TF_UNAVAILABLE, 14),
      CONSTANT(TF_DATA_LOSS, 15),
      CONSTANT(TF_UNAUTHENTICATED, 16),
      CONSTANT(TSL_OK, 0),
      CONSTANT(TSL_UNAUTHENTICATED, 16),
  };
  CHECK_CONSTANTS(kCodes);
}

static void data_types_have_tensorflows_values(void** state) {
  (void)state;
  static const constant_t kTypes[] = {
      CONSTANT(TF_FLOAT, 1),
      CONSTANT(TF_DOUBLE, 2),
      CONSTANT(TF_INT32, 3),
      CONSTANT(TF_UINT8, 4),
      CONSTANT(TF_INT16, 5),
      CONSTANT(TF_INT8, 6),
      CONSTANT(TF_STRING, 7),
      CONSTANT(TF_COMPLEX64, 8),
      CONSTANT(TF_COMPLEX, 8),
      CONSTANT(TF_INT64, 9),
      CONSTANT(TF_BOOL, 10),
      CONSTANT(TF_QINT8, 11),
      CONSTANT(TF_QUINT8, 12),
      CONSTANT(TF_QINT32, 13),
      CONSTANT(TF_BFLOAT16, 14),
      CONSTANT(TF_QINT16, 15),
      CONSTANT(TF_QUINT16, 16),
      CONSTANT(TF_UINT16, 17),
      CONSTANT(TF_COMPLEX128, 18),
      CONSTANT(TF_HALF, 19),
      CONSTANT(TF_RESOURCE, 20),
      CONSTANT(TF_VARIANT, 21),
      CONSTANT(TF_UINT32, 22),
      CONSTANT(TF_UINT64, 23),
      CONSTANT(TF_FLOAT8_E5M2, 24),
      CONSTANT(TF_FLOAT8_E4M3FN, 25),
      CONSTANT(TF_FLOAT8_E4M3FNUZ, 26),
      CONSTANT(TF_FLOAT8_E4M3B11FNUZ, 27),
      CONSTANT(TF_FLOAT8_E5M2FNUZ, 28),
      CONSTANT(TF_INT4, 29),
      CONSTANT(TF_UINT4, 30),
      CONSTANT(TF_INT2, 31),
      CONSTANT(TF_UINT2, 32),
      CONSTANT(TF_FLOAT4_E2M1FN, 33),
  };
  CHECK_CONSTANTS(kTypes);
}

static void other_enums_have_tensorflows_values(void** state) {
  (void)state;
  static const constant_t kOthers[] = {
      CONSTANT(TF_ATTR_STRING, 0), CONSTANT(TF_ATTR_INT, 1),
      CONSTANT(TF_ATTR_FLOAT, 2),  CONSTANT(TF_ATTR_BOOL, 3),
      CONSTANT(TF_ATTR_TYPE, 4),   CONSTANT(TF_ATTR_SHAPE, 5),
      CONSTANT(TF_ATTR_TENSOR, 6), CONSTANT(TF_ATTR_PLACEHOLDER, 7),
      CONSTANT(TF_ATTR_FUNC, 8),   CONSTANT(TF_TSTR_SMALL, 0),
      CONSTANT(TF_TSTR_LARGE, 1),  CONSTANT(TF_TSTR_OFFSET, 2),
      CONSTANT(TF_TSTR_VIEW, 3),   CONSTANT(TF_TSTR_TYPE_MASK, 3),
  };
  CHECK_CONSTANTS(kOthers);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(codes_have_tensorflows_values),
      cmocka_unit_test(data_types_have_tensorflows_values),
      cmocka_unit_test(other_enums_have_tensorflows_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
