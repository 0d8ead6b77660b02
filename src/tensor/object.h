// Elements that are objects: strings (TF_TString, TensorFlow's public 24-byte layout), resource
// handles and variants. A zeroed element is valid: it is the empty string, no handle or the empty
// variant. So a new array needs no constructor, and one that was filled in part can be destroyed.
// Buffers (tensor/buffer.h) destroy their elements through this header; kernels write elements
// through it.
//
// Handles and variants are shared by reference count, so copying one is cheap and both copies mean
// the same thing. Strings are copied.
#ifndef LEAT_TENSOR_OBJECT_H_
#define LEAT_TENSOR_OBJECT_H_

#include "base/allocator.h"
#include "base/sync.h"
#include "tensor/dtype.h"
#include "tensorflow/c/tf_tstring.h"

// Names a resource in a container of a device. A handle is a value of the host that any node may
// pass on, but only its device looks the resource up. It is immutable and reference-counted.
typedef struct leat_resource_handle_s {
  leat_reference_count_t references;
  // leat_string_view_hash of |type_name|, or the number that came with the handle in a message
  // (hash_code of ResourceHandleProto).
  uint64_t type_hash;
  // Its full name.
  leat_string_view_t device;
  // "localhost" when the op states none.
  leat_string_view_t container;
  leat_string_view_t name;
  leat_string_view_t type_name;  // of the kind of resource, for messages
  // A resource without a name lives as long as its handles: set by whoever made the handle, let go
  // of with the last one. NULL: the name is looked up.
  void* owned;
  void (*release_owned)(void* owned);
} leat_resource_handle_t;

// Makes a handle with one reference. The texts are copied. INVALID_ARGUMENT when their sizes
// overflow, RESOURCE_EXHAUSTED without memory.
LEAT_MUST_USE leat_status_t leat_resource_handle_create(leat_string_view_t device,
                                                        leat_string_view_t container,
                                                        leat_string_view_t name,
                                                        leat_string_view_t type_name,
                                                        leat_resource_handle_t** out_handle);
void leat_resource_handle_retain(leat_resource_handle_t* handle);
void leat_resource_handle_release(leat_resource_handle_t* handle);  // NULL is allowed

// A value of any kind that travels as an element: a tensor list, an optional, a dataset. |self| is
// reference counted by its vtable, whose functions may run on any thread; a value with several
// owners must not change.
typedef struct leat_variant_vtable_s leat_variant_vtable_t;
typedef struct leat_variant_s {
  const leat_variant_vtable_t* vtable;  // NULL: empty
  void* self;
} leat_variant_t;

struct leat_tensor_s;
struct leat_variant_vtable_s {
  const char* type_name;  // as in VariantTensorData: "tensorflow::TensorList"
  void (*retain)(void* self);
  void (*release)(void* self);
  // The value that is to |self| as 0 to a number, for the op ZerosLike. The caller owns
  // |*out_variant|. NULL: the op fails for this kind.
  leat_status_t (*zeros_like)(void* self, leat_variant_t* out_variant);
  // The sum of two values of this kind, for AddN and gradients that meet. NULL as above.
  leat_status_t (*add)(void* a, void* b, leat_variant_t* out_variant);
  // For messages and checkpoints: the value's own bytes, and the tensors inside, shared. The caller
  // frees |*out_metadata| and |*out_tensors| with the system allocator and releases each tensor.
  // NULL: the kind cannot leave the process.
  leat_status_t (*encode)(void* self, char** out_metadata, size_t* out_metadata_size,
                          struct leat_tensor_s** out_tensors, size_t* out_tensor_count);
  // The value that |encode| made |metadata| and |tensors| [count] of. It takes the tensors that it
  // keeps, and leaves those as no tensors. They may come from anybody: INVALID_ARGUMENT for what
  // |encode| does not make. NULL: no message may hold the kind.
  leat_status_t (*decode)(leat_string_view_t metadata, struct leat_tensor_s* tensors, size_t count,
                          leat_variant_t* out_variant);
  // The value for people, NUL-terminated; NULL: its type must do.
  void (*describe)(void* self, char* text, size_t size);
};

// The kinds of variants with a |decode|, a list of |count| that lives as long as the process;
// numbers (number_variant.h) need not be in it. Called once, before any message is read.
void leat_variant_kinds_set(const leat_variant_vtable_t* const* kinds, size_t count);
// The kind of that list with the name; NULL where there is none.
const leat_variant_vtable_t* leat_variant_kind_find(leat_string_view_t type_name);

// Makes |target| a copy of |text|, which must not lie in |target|; RESOURCE_EXHAUSTED leaves it as
// it was.
LEAT_MUST_USE leat_status_t leat_object_set_string(TF_TString* target, leat_string_view_t text);

// Copies |count| elements of an object dtype; what |target| held is released. Arrays may be the
// same. RESOURCE_EXHAUSTED when a string finds no memory, with some elements copied;
// INVALID_ARGUMENT for a dtype whose elements are no objects.
LEAT_MUST_USE leat_status_t leat_object_copy(int dtype, const void* source, void* target,
                                             int64_t count);
// Destroys |count| elements and leaves their bytes undefined; does nothing for a dtype of plain
// bytes.
void leat_object_destroy(int dtype, void* elements, int64_t count);

#endif  // LEAT_TENSOR_OBJECT_H_
