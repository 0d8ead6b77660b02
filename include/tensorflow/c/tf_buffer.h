// A block of bytes with a length and a way to free it: how serialised messages cross the C API.

#ifndef TENSORFLOW_C_TF_BUFFER_H_
#define TENSORFLOW_C_TF_BUFFER_H_

#include <stddef.h>

#include "tensorflow/c/c_api_macros.h"

#ifdef __cplusplus
extern "C" {
#endif

// Bytes, most often one serialised protocol buffer message. The struct is open: a caller may put
// its own block into |data| without a copy and say in |data_deallocator| how that block is to be
// freed (NULL: not at all).
//
//   TF_Buffer* graph_def = TF_NewBuffer();
//   TF_GraphToGraphDef(graph, graph_def, status);
//   fwrite(graph_def->data, 1, graph_def->length, file);
//   TF_DeleteBuffer(graph_def);
//
// Nothing here locks; a buffer that is only read may be read by several threads.
typedef struct TF_Buffer {
  const void* data;
  size_t length;  // bytes
  void (*data_deallocator)(void* data, size_t length);
} TF_Buffer;

// A buffer that owns a copy of the |proto_len| bytes at |proto|. Free with TF_DeleteBuffer.
// NULL when memory runs out.
TF_CAPI_EXPORT TF_Buffer* TF_NewBufferFromString(const void* proto, size_t proto_len);

// An empty buffer (NULL, 0, NULL), for a function that returns a message through a parameter. Such
// functions want the buffer fresh: they refuse one that already holds data with
// TF_INVALID_ARGUMENT. Free with TF_DeleteBuffer. NULL when memory runs out.
TF_CAPI_EXPORT TF_Buffer* TF_NewBuffer(void);

// Calls |data_deallocator| on the block if there is one, then frees the struct. For structs made by
// this library only, not for a TF_Buffer returned by value or declared by the caller. NULL is
// ignored.
TF_CAPI_EXPORT void TF_DeleteBuffer(TF_Buffer* buffer);

// The struct itself, by value, for languages that cannot look inside. The block stays with
// |buffer|; never free it through the copy.
TF_CAPI_EXPORT TF_Buffer TF_GetBuffer(TF_Buffer* buffer);

#ifdef __cplusplus
} /* end extern "C" */
#endif

#endif  // TENSORFLOW_C_TF_BUFFER_H_
