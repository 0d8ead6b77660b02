// Hashes of datasets, which tell apart what datasets are made of (ops/dataset/dataset_cpu.h). A
// snapshot is found again by the hash of the dataset whose elements it holds, so that equal
// pipelines must have equal hashes in every process: they are made of the op, the attributes and
// the inputs of the node that made each dataset, which may be large and are looked at only when
// somebody asks.
#include <string.h>

#include "base/fingerprint.h"
#include "ops/dataset/dataset_cpu.h"

static uint64_t hash_bytes(uint64_t hash, const void* data, size_t size) {
  return leat_hash_mix(hash, leat_fingerprint64(leat_string_view_make(data, size)));
}

// Of the type, the shape and the elements. Of variants and resources nothing is known but that.
static uint64_t hash_tensor(uint64_t hash, const leat_tensor_t* tensor) {
  const leat_shape_t* shape = &tensor->shape;
  hash = leat_hash_mix(hash, (uint64_t)tensor->dtype);
  hash = hash_bytes(hash, leat_shape_dims(shape), (size_t)shape->rank * sizeof(int64_t));
  if (tensor->dtype == LEAT_DTYPE_VARIANT || tensor->dtype == LEAT_DTYPE_RESOURCE) return hash;
  if (tensor->dtype != LEAT_DTYPE_STRING) {
    return hash_bytes(hash, tensor->data,
                      (size_t)shape->element_count * leat_dtype_size(tensor->dtype));
  }
  for (int64_t i = 0; i < shape->element_count; ++i) {
    const leat_string_view_t text = leat_tensor_string_at(tensor, i);
    hash = hash_bytes(hash, text.data, text.size);
  }
  return hash;
}

static uint64_t hash_tensors(uint64_t hash, const leat_tensor_t* tensors, int count) {
  for (int i = 0; i < count; ++i) hash = hash_tensor(hash, &tensors[i]);
  return hash;
}

// Of what a node is made of, or, for a dataset without one, of what it holds. Inputs that are
// datasets are left out, since they are among those of the dataset or of its parts.
static uint64_t hash_own(const leat_dataset_t* dataset) {
  const leat_dataset_node_t* node = &dataset->node;
  uint64_t hash = hash_bytes(0, dataset->kind->name, strlen(dataset->kind->name));
  if (!node->op) return hash_tensors(hash, dataset->tensors, dataset->tensor_count);
  hash = hash_bytes(hash, node->op->name.data, node->op->name.size);
  hash = leat_hash_mix(hash, node->attrs->hash);
  return hash_tensors(hash, node->inputs, node->input_count);
}

// A dataset may stand below another one in many ways, so that each keeps its hash. Two threads that
// work out the same one come to the same number.
uint64_t leat_dataset_hash(leat_dataset_t* dataset) {
  uint64_t hash = atomic_load_explicit(&dataset->hash, memory_order_relaxed);
  if (hash) return hash;
  hash = hash_own(dataset);
  for (int i = 0; i < dataset->input_count; ++i) {
    hash = leat_hash_mix(hash, leat_dataset_hash(dataset->inputs[i]));
  }
  hash += !hash;
  atomic_store_explicit(&dataset->hash, hash, memory_order_relaxed);
  return hash;
}
