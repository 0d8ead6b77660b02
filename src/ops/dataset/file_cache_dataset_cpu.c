// CacheDataset with a file name: the elements of one pass are kept in a checkpoint of that name
// (formats/checkpoint/bundle.h), and later passes, also of other processes, read them from there.
// Component j of element i is the tensor "%7i_%j", as in TensorFlow, whose caches can be read.
//
// A pass looks when it is first asked for an element whether the checkpoint is there, and reads it
// or writes it until its end. The checkpoint appears in one step when the input has ended; a pass
// that stops early leaves nothing. While a pass writes, the directory <name>_0.lockfile is there.
// Another pass that would write fails then with ALREADY_EXISTS: making a directory is the one thing
// that only one of several processes can succeed in on any file system.
#include <inttypes.h>
#include <stdio.h>

#include "formats/checkpoint/bundle.h"
#include "ops/dataset/dataset_cpu.h"

enum { KEY_BYTES = 64 };

typedef struct file_cache_iterator_s {
  leat_iterator_t base;
  // At most one of the two is not NULL: this pass reads the cache, or writes it.
  leat_bundle_reader_t* reader;
  leat_bundle_writer_t* writer;
  bool begun;     // the pass has looked whether the cache is there
  bool has_lock;  // this pass made the directory that keeps others from writing
  int64_t element;  // index of the element that is given next
} file_cache_iterator_t;

// The paths that belong to the cache, in |arena|.
typedef struct paths_s {
  leat_arena_t arena;
  const char *prefix, *index, *lock;
} paths_t;

static leat_status_t find_paths(const leat_iterator_t* it, paths_t* out_paths) {
  leat_string_view_t name = leat_tensor_string_at(&it->dataset->tensors[0], 0);
  char *prefix, *lock;
  size_t size = name.size + sizeof "_0.lockfile";
  leat_arena_initialize(leat_allocator_system(), 512, &out_paths->arena);
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(&out_paths->arena, size, (void**)&prefix));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate(&out_paths->arena, size, (void**)&lock));
  snprintf(prefix, size, "%.*s", LEAT_SV_ARG(name));
  snprintf(lock, size, "%.*s_0.lockfile", LEAT_SV_ARG(name));
  out_paths->prefix = prefix;
  out_paths->lock = lock;
  return leat_bundle_index_path(prefix, &out_paths->arena, &out_paths->index);
}

// ---- Writing ------------------------------------------------------------------------------------

static leat_status_t make_lock(file_cache_iterator_t* it, const char* path) {
  leat_file_system_t* fs = leat_file_system_default();
  leat_status_t status = fs->vtable->make_directory(fs, path);
  it->has_lock = !status;
  if (leat_status_code(status) != LEAT_ALREADY_EXISTS) return status;
  leat_status_free(status);
  return leat_make_status(LEAT_ALREADY_EXISTS,
                          "There appears to be a concurrent caching iterator running - cache "
                          "lockfile already exists ('%s'). If you are sure no other running "
                          "computations are using this cache prefix, delete the lockfile and "
                          "re-initialize the iterator.",
                          path);
}

static void remove_lock(file_cache_iterator_t* it) {
  paths_t paths;
  if (!it->has_lock) return;
  it->has_lock = false;
  leat_status_t status = find_paths(&it->base, &paths);
  leat_file_system_t* fs = leat_file_system_default();
  if (!status) status = fs->vtable->remove(fs, paths.lock);
  leat_status_free(status);  // whoever writes next is told how to remove it
  leat_arena_deinitialize(&paths.arena);
}

// The writer makes the directory in which the lock is made, and writes nothing yet.
static leat_status_t begin_writing(file_cache_iterator_t* it, const paths_t* paths) {
  LEAT_RETURN_IF_ERROR(leat_bundle_writer_create(leat_file_system_default(), paths->prefix,
                                                 leat_allocator_system(), &it->writer));
  LEAT_RETURN_IF_ERROR(make_lock(it, paths->lock));
  return leat_iterator_open_input(&it->base, it->base.dataset->inputs[0]);
}

// Ends the writing; nothing is published unless it was finished before.
static void end_writing(file_cache_iterator_t* it) {
  leat_bundle_writer_free(it->writer);
  it->writer = NULL;
  remove_lock(it);
}

static leat_status_t publish(file_cache_iterator_t* it) {
  if (!it->writer) return leat_ok_status();
  leat_status_t status = leat_bundle_writer_finish(it->writer);
  end_writing(it);
  return status;
}

// ---- Keys ---------------------------------------------------------------------------------------

// The number of a component has as many digits as that of the last one.
static leat_string_view_t key_of(const file_cache_iterator_t* it, int component,
                                 char buffer[KEY_BYTES]) {
  int width = snprintf(NULL, 0, "%d", it->base.dataset->spec->count - 1);
  int size = snprintf(buffer, KEY_BYTES, "%7" PRId64 "_%*d", it->element, width, component);
  return leat_string_view_make(buffer, (size_t)size);
}

static leat_status_t write_element(file_cache_iterator_t* it, const leat_tensor_t* element) {
  char buffer[KEY_BYTES];
  for (int i = 0; i < it->base.dataset->spec->count; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_bundle_writer_add(it->writer, key_of(it, i, buffer), &element[i]));
  }
  ++it->element;
  return leat_ok_status();
}

// Reads the next element; NOT_FOUND when there is none.
static leat_status_t read_element(file_cache_iterator_t* it, leat_tensor_t* out) {
  char buffer[KEY_BYTES];
  for (int i = 0; i < it->base.dataset->spec->count; ++i) {
    leat_status_t status = leat_bundle_reader_read(it->reader, key_of(it, i, buffer),
                                                   leat_buffer_source_host(), &out[i]);
    if (!status) continue;
    leat_element_release(out, i);
    return status;
  }
  ++it->element;
  return leat_ok_status();
}

// ---- The iterator -------------------------------------------------------------------------------

static leat_status_t begin(file_cache_iterator_t* it) {
  paths_t paths;
  leat_file_system_t* fs = leat_file_system_default();
  leat_status_t status = find_paths(&it->base, &paths);
  if (!status && leat_file_exists(fs, paths.index)) {
    status = leat_bundle_reader_open(fs, paths.prefix, leat_allocator_system(), &it->reader);
  } else if (!status) {
    status = begin_writing(it, &paths);
    if (status) end_writing(it);
  }
  leat_arena_deinitialize(&paths.arena);
  it->begun = !status;
  return status;
}

static leat_status_t read_next(file_cache_iterator_t* it, leat_tensor_t* out,
                               leat_poll_t* out_poll) {
  leat_status_t status = read_element(it, out);
  if (leat_status_code(status) == LEAT_NOT_FOUND) {
    leat_status_free(status);
    return leat_ok_status();
  }
  if (!status) *out_poll = LEAT_POLL_ELEMENT;
  return status;
}

// The cache is published when the input ends, or has given as many elements as it has: a reader
// that knows the number may not ask again. Where writing fails, the pass goes on without the cache.
static leat_status_t write_next(file_cache_iterator_t* it, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll) {
  LEAT_RETURN_IF_ERROR(leat_iterator_next(it->base.input, pull, out, out_poll));
  if (*out_poll == LEAT_POLL_END) return publish(it);
  if (*out_poll != LEAT_POLL_ELEMENT || !it->writer) return leat_ok_status();
  leat_status_t status = write_element(it, out);
  if (!status && it->element == leat_dataset_cardinality(it->base.dataset)) status = publish(it);
  if (status) {
    leat_element_release(out, it->base.dataset->spec->count);
    end_writing(it);
  }
  return status;
}

static leat_status_t file_cache_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                     leat_poll_t* out_poll) {
  file_cache_iterator_t* it = (file_cache_iterator_t*)self;
  if (!it->begun) LEAT_RETURN_IF_ERROR(begin(it));
  return it->reader ? read_next(it, out, out_poll) : write_next(it, pull, out, out_poll);
}

static void file_cache_stop(leat_iterator_t* self) {
  file_cache_iterator_t* it = (file_cache_iterator_t*)self;
  leat_bundle_reader_free(it->reader);
  end_writing(it);
}

static const leat_dataset_kind_t kFileCache = {.name = "FileCache",
                                               .dataset_bytes = sizeof(leat_dataset_t),
                                               .iterator_bytes = sizeof(file_cache_iterator_t),
                                               .next = file_cache_next,
                                               .stop = file_cache_stop};

leat_status_t leat_file_cache_create(leat_kernel_context_t* c, leat_string_view_t filename,
                                     leat_dataset_t** out_dataset) {
  leat_dataset_t *input, *dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over(
      &kFileCache, leat_element_spec_retain(input->spec), input, 1, &dataset));
  leat_status_t status = leat_tensor_scalar_string(filename, &dataset->tensors[0]);
  if (status) {
    leat_dataset_release(dataset);
    return status;
  }
  *out_dataset = dataset;
  return leat_ok_status();
}
