// The kinds of value that an operation's attribute can hold.

#ifndef TENSORFLOW_C_TF_ATTRTYPE_H_
#define TENSORFLOW_C_TF_ATTRTYPE_H_

#ifdef __cplusplus
extern "C" {
#endif

// The kind of one attribute, or of one element of a list attribute (TF_AttrMetadata.is_list tells
// which).
typedef enum TF_AttrType {
  TF_ATTR_STRING = 0,       // bytes, any content
  TF_ATTR_INT = 1,          // int64
  TF_ATTR_FLOAT = 2,        // float32
  TF_ATTR_BOOL = 3,         // 0 or 1
  TF_ATTR_TYPE = 4,         // a TF_DataType
  TF_ATTR_SHAPE = 5,        // a shape whose rank or dimensions may be unknown
  TF_ATTR_TENSOR = 6,       // a constant tensor
  TF_ATTR_PLACEHOLDER = 7,  // inside a function body: the name of the caller's attribute
  TF_ATTR_FUNC = 8,         // a function's name and attributes
} TF_AttrType;

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_TF_ATTRTYPE_H_
