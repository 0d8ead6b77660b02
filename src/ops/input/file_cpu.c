// Kernels of the ops on whole files: ReadFile, WriteFile, MatchingFiles and ImmutableConst, and of
// FileSystemSetConfiguration. They go through the library's default file system
// (base/file_system.h), so that names of plugins' file systems work as well. They block their
// thread while the file is read or written, and are therefore marked as expensive. WriteFile makes
// missing directories first; the file is written in place, as in TensorFlow, so that a reader may
// see half of it. Names are copied into an arena because the file system wants them to end in NUL.
//
// ImmutableConst reads its file when the kernel is made, and the outputs of all steps share the
// bytes, where TensorFlow maps the file into memory.
#include <stdlib.h>

#include "base/file_system.h"
#include "formats/path.h"
#include "ops/kernel_rows.h"

// Reads input 0, the file name. |*out_name| ends in NUL and lies in |arena|.
static leat_status_t read_name(const leat_kernel_context_t* c, leat_arena_t* arena,
                               const char** out_name) {
  const leat_tensor_t* name = leat_kernel_input(c, 0);
  leat_string_view_t copy;
  if (name->shape.rank != 0) {
    return leat_kernel_invalid(c, "Input filename tensor must be scalar, but had shape: %s",
                               LEAT_SHAPE_TEXT(&name->shape));
  }
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, leat_tensor_string_at(name, 0), &copy));
  *out_name = copy.data;
  return leat_ok_status();
}

// ---- Reading ------------------------------------------------------------------------------------

static leat_status_t read(leat_kernel_context_t* c, leat_arena_t* arena) {
  const char* name;
  char* bytes;
  size_t size;
  leat_tensor_t* output;
  leat_shape_t scalar = leat_shape_scalar();
  LEAT_RETURN_IF_ERROR(read_name(c, arena, &name));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  LEAT_RETURN_IF_ERROR(leat_file_read_all(leat_file_system_default(), name, leat_allocator_system(),
                                          &bytes, &size));
  leat_status_t status = leat_tensor_set_string(output, 0, leat_string_view_make(bytes, size));
  leat_allocator_free(leat_allocator_system(), bytes);
  return status;
}

// ---- Writing ------------------------------------------------------------------------------------

static leat_status_t write(leat_kernel_context_t* c, leat_arena_t* arena) {
  leat_file_system_t* fs = leat_file_system_default();
  const leat_tensor_t* contents = leat_kernel_input(c, 1);
  const char *name, *directory;
  leat_file_t* file;
  LEAT_RETURN_IF_ERROR(read_name(c, arena, &name));
  if (contents->shape.rank != 0) {
    return leat_kernel_invalid(c, "Contents tensor must be scalar, but had shape: %s",
                               LEAT_SHAPE_TEXT(&contents->shape));
  }
  LEAT_RETURN_IF_ERROR(leat_path_directory(name, arena, &directory));
  if (!leat_file_exists(fs, directory)) {
    LEAT_RETURN_IF_ERROR(leat_file_make_directories(fs, directory));
  }
  LEAT_RETURN_IF_ERROR(
      leat_file_open(fs, name, LEAT_FILE_WRITE, leat_allocator_system(), &file));
  leat_string_view_t bytes = leat_tensor_string_at(contents, 0);
  leat_status_t status = file->vtable->write(file, bytes.data, bytes.size);
  // An error of closing counts too: it may be the only sign that bytes were not written.
  leat_status_t closed = leat_file_close(file);
  if (!status) return closed;
  leat_status_free(closed);
  return status;
}

// ---- Matching -----------------------------------------------------------------------------------

typedef struct names_s {
  leat_arena_t* arena;  // a view of a name in |arena| for each match
  leat_string_view_t* items;
  size_t count, room;
} names_t;

static leat_status_t add_name(void* data, const char* name) {
  names_t* names = data;
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), names->count + 1, &names->items, &names->room));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(names->arena, leat_string_view_from(name),
                                              &names->items[names->count]));
  ++names->count;
  return leat_ok_status();
}

static int compare_names(const void* a, const void* b) {
  return leat_string_view_compare(*(const leat_string_view_t*)a, *(const leat_string_view_t*)b);
}

static leat_status_t find_names(const leat_tensor_t* patterns, names_t* names) {
  for (int64_t i = 0; i < patterns->shape.element_count; ++i) {
    leat_string_view_t pattern;
    LEAT_RETURN_IF_ERROR(
        leat_arena_copy_string(names->arena, leat_tensor_string_at(patterns, i), &pattern));
    LEAT_RETURN_IF_ERROR(
        leat_file_match(leat_file_system_default(), pattern.data, add_name, names));
  }
  if (names->count) qsort(names->items, names->count, sizeof *names->items, compare_names);
  return leat_ok_status();
}

static leat_status_t set_names(leat_kernel_context_t* c, const names_t* names) {
  leat_shape_t shape = leat_shape_vector((int64_t)names->count);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  for (size_t i = 0; i < names->count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_tensor_set_string(output, (int64_t)i, names->items[i]));
  }
  return leat_ok_status();
}

static leat_status_t match(leat_kernel_context_t* c, leat_arena_t* arena) {
  const leat_tensor_t* patterns = leat_kernel_input(c, 0);
  if (patterns->shape.rank > 1) {
    return leat_kernel_invalid(c,
                               "Input patterns tensor must be scalar or vector, but had shape: %s",
                               LEAT_SHAPE_TEXT(&patterns->shape));
  }
  names_t names = {.arena = arena};
  leat_status_t status = find_names(patterns, &names);
  if (!status) status = set_names(c, &names);
  leat_allocator_free(leat_allocator_system(), names.items);
  return status;
}

// ---- Constants in files -------------------------------------------------------------------------

typedef struct immutable_s {
  leat_tensor_t value;
} immutable_t;

// Makes |out_value| of the first bytes of |file|. INTERNAL when it is too short.
static leat_status_t read_elements(leat_file_t* file, int dtype, const leat_shape_t* shape,
                                   leat_tensor_t* out_value) {
  uint64_t available;
  LEAT_RETURN_IF_ERROR(file->vtable->size(file, &available));
  if ((uint64_t)shape->element_count > available / leat_dtype_size(dtype)) {
    return leat_make_status(LEAT_INTERNAL, "file %s has %llu bytes, must have %lld elements of %s",
                            file->path, (unsigned long long)available,
                            (long long)shape->element_count, leat_dtype_name(dtype));
  }
  LEAT_RETURN_IF_ERROR(leat_tensor_allocate(leat_buffer_source_host(), dtype, shape, out_value));
  return leat_file_read_exactly(file, 0, out_value->data, leat_tensor_size_bytes(out_value));
}

static leat_status_t load(leat_kernel_creation_t* c, leat_arena_t* arena, immutable_t* state) {
  int dtype;
  leat_string_view_t name;
  leat_partial_shape_t partial;
  leat_shape_t shape = leat_shape_scalar();  // where the attribute says nothing
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "dtype", &dtype));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_shape(c, "shape", &partial));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "memory_region_name", &name));
  if (leat_dtype_in(dtype, LEAT_DTYPES_OBJECT)) {
    return leat_make_status(dtype == LEAT_DTYPE_STRING ? LEAT_UNIMPLEMENTED : LEAT_INVALID_ARGUMENT,
                            "dtype is %s, must be a type of numbers", leat_dtype_name(dtype));
  }
  if (partial.rank >= 0) LEAT_RETURN_IF_ERROR(leat_partial_shape_to_full(partial, &shape));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, name, &name));
  leat_file_t* file;
  leat_status_t status = leat_file_open(leat_file_system_default(), name.data, LEAT_FILE_READ,
                                        leat_allocator_system(), &file);
  if (!status) {
    status = read_elements(file, dtype, &shape, &state->value);
    leat_status_free(leat_file_close(file));
  }
  leat_shape_release(&shape);
  return status ? status : leat_tensor_normalize_bools(leat_buffer_source_host(), &state->value);
}

static leat_status_t immutable_create(leat_kernel_creation_t* c, void* state) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = load(c, &arena, state);
  leat_arena_deinitialize(&arena);
  return status;
}

static void immutable_destroy(void* state) { leat_tensor_release(&((immutable_t*)state)->value); }

static leat_status_t immutable__cpu(leat_kernel_context_t* c) {
  const immutable_t* state = leat_kernel_state(c);
  leat_kernel_set_output(c, 0, leat_tensor_share(&state->value));
  return leat_ok_status();
}

// ---- Options of file systems --------------------------------------------------------------------

static leat_status_t set_configuration__cpu(leat_kernel_context_t* c) {
  return leat_file_system_set_option(leat_tensor_string_at(leat_kernel_input(c, 0), 0),
                                     leat_tensor_string_at(leat_kernel_input(c, 1), 0),
                                     leat_tensor_string_at(leat_kernel_input(c, 2), 0));
}

// Defines verb__cpu, which runs |verb| with an arena for its names.
#define KERNEL(verb)                                                \
  static leat_status_t verb##__cpu(leat_kernel_context_t* c) {      \
    leat_arena_t arena;                                             \
    leat_arena_initialize(leat_allocator_system(), 0, &arena);      \
    leat_status_t status = verb(c, &arena);                         \
    leat_arena_deinitialize(&arena);                                \
    return status;                                                  \
  }
KERNEL(read)
KERNEL(write)
KERNEL(match)

const leat_kernel_row_t leat_file_kernels_cpu[] = {
    {.op = "ReadFile", .device_type = "CPU", .compute = read__cpu, .expensive = true},
    {.op = "WriteFile", .device_type = "CPU", .compute = write__cpu, .expensive = true},
    {.op = "MatchingFiles", .device_type = "CPU", .compute = match__cpu, .expensive = true},
    {.op = "FileSystemSetConfiguration", .device_type = "CPU", .compute = set_configuration__cpu},
    LEAT_CPU_KERNEL("ImmutableConst", NULL, immutable_t, immutable_create, immutable__cpu,
                    .destroy = immutable_destroy),
    LEAT_KERNEL_ROWS_END,
};
