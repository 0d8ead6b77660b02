// A dump is looked for in the list of all dumps at each request, so that whatever path a client
// sends, only directories of dumps below the log directory are opened. Walking them also tells
// whether files came or changed since the dump was read: their number, sizes and times make a mark,
// and another mark means another reading. Only the dump that was read last is kept, because its
// numbers are few and its files may be gigabytes.
#include "board/dump_store.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file_system.h"
#include "base/sync.h"

#define MAX_DEPTH 24      // of directories
#define MAX_FILES 200000  // of a dump
#define MAX_DUMPS 1000
#define DEVICE LEAT_SV("_tfdbg_device_")

struct board_dump_store_s {
  leat_mutex_t lock;
  leat_arena_t arena;  // of what follows
  leat_string_view_t name;
  uint64_t mark;
  board_dump_t dump;
};

leat_status_t board_dump_store_create(board_dump_store_t** out_store) {
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, out_store));
  leat_mutex_initialize(&(*out_store)->lock);
  leat_arena_initialize(leat_allocator_system(), 0, &(*out_store)->arena);
  return leat_ok_status();
}

void board_dump_store_free(board_dump_store_t* store) {
  if (!store) return;
  leat_arena_deinitialize(&store->arena);
  leat_mutex_deinitialize(&store->lock);
  leat_allocator_free(leat_allocator_system(), store);
}

// ---- Directories --------------------------------------------------------------------------------

typedef struct names_s {
  leat_arena_t* arena;
  leat_string_view_t* items;
  size_t count, capacity;
} names_t;

static leat_status_t add_name(names_t* names, leat_string_view_t name) {
  leat_string_view_t* items = names->items;
  if (names->count == names->capacity) {
    names->capacity = names->capacity ? 2 * names->capacity : 16;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(names->arena, names->capacity, &items));
    if (names->count) memcpy(items, names->items, names->count * sizeof *items);
    names->items = items;
  }
  return leat_arena_copy_string(names->arena, name, &names->items[names->count++]);
}

static leat_status_t on_entry(void* data, const char* name) {
  return add_name(data, leat_string_view_from(name));
}

static int compare_names(const void* a, const void* b) {
  return leat_string_view_compare(*(const leat_string_view_t*)a, *(const leat_string_view_t*)b);
}

// The entries of |directory|, sorted. What may not be read has none.
static void list_entries(leat_string_view_t directory, leat_arena_t* arena, names_t* out_names) {
  leat_file_system_t* fs = leat_file_system_default();
  *out_names = (names_t){.arena = arena};
  leat_status_free(fs->vtable->list(fs, directory.data, on_entry, out_names));
  if (out_names->count) {
    qsort(out_names->items, out_names->count, sizeof *out_names->items, compare_names);
  }
}

static leat_status_t join(leat_arena_t* arena, leat_string_view_t directory,
                          leat_string_view_t name, leat_string_view_t* out_path) {
  return leat_arena_print(arena, out_path, "%.*s%s%.*s", LEAT_SV_ARG(directory),
                          directory.size ? "/" : "", LEAT_SV_ARG(name));
}

// ---- Files of a dump ----------------------------------------------------------------------------

typedef struct dump_file_s {
  leat_string_view_t path;
  board_dump_name_t name;
} dump_file_t;

typedef struct files_s {
  leat_arena_t* arena;
  dump_file_t* items;
  size_t count, capacity;
  uint64_t mark;
  size_t most;  // after so many the walk ends
} files_t;

static uint64_t mix(uint64_t mark, uint64_t word) {
  return (mark ^ word) * UINT64_C(0x9e3779b97f4a7c15) + (mark >> 29);
}

// Collects the dumps below |directory|; |below| is the path below the directory of the device.
static leat_status_t collect(files_t* files, leat_string_view_t directory,
                             leat_string_view_t below, int depth) {
  names_t entries;
  list_entries(directory, files->arena, &entries);
  for (size_t i = 0; i < entries.count && files->count < files->most; ++i) {
    leat_string_view_t path, inner;
    struct stat entry;
    dump_file_t file;
    LEAT_RETURN_IF_ERROR(join(files->arena, directory, entries.items[i], &path));
    if (lstat(path.data, &entry)) continue;
    const bool is_device = leat_string_view_starts_with(entries.items[i], DEVICE);
    LEAT_RETURN_IF_ERROR(join(files->arena, below, entries.items[i], &inner));
    if (S_ISDIR(entry.st_mode) && depth < MAX_DEPTH) {
      LEAT_RETURN_IF_ERROR(
          collect(files, path, is_device && !below.size ? LEAT_SV("") : inner, depth + 1));
    }
    if (!S_ISREG(entry.st_mode) || !board_dump_parse_name(inner, &file.name)) continue;
    file.path = path;
    LEAT_RETURN_IF_ERROR(
        LEAT_GROW(leat_allocator_system(), files->count + 1, &files->items, &files->capacity));
    files->items[files->count++] = file;
    files->mark = mix(mix(files->mark, (uint64_t)entry.st_size),
                      (uint64_t)entry.st_mtim.tv_sec << 30 ^ (uint64_t)entry.st_mtim.tv_nsec);
  }
  return leat_ok_status();
}

// ---- The list of dumps --------------------------------------------------------------------------

static leat_status_t has_dumps(leat_arena_t* arena, leat_string_view_t directory, bool* out_has) {
  files_t files = {.arena = arena, .most = 1};
  leat_status_t status = collect(&files, directory, LEAT_SV(""), 0);
  *out_has = files.count > 0;
  leat_allocator_free(leat_allocator_system(), files.items);
  return status;
}

// Whether the directory |name|, whose entries are |entries|, can be a dump.
static bool may_be_dump(leat_string_view_t name, const names_t* entries) {
  if (leat_string_view_starts_with(name, LEAT_SV("run_"))) return true;
  for (size_t i = 0; i < entries->count; ++i) {
    if (leat_string_view_starts_with(entries->items[i], DEVICE)) return true;
  }
  return false;
}

static leat_status_t find_dumps(names_t* dumps, leat_string_view_t directory,
                                leat_string_view_t below, leat_string_view_t name, int depth) {
  names_t entries;
  bool is_dump = false;
  list_entries(directory, dumps->arena, &entries);
  if (may_be_dump(name, &entries)) {
    LEAT_RETURN_IF_ERROR(has_dumps(dumps->arena, directory, &is_dump));
  }
  if (is_dump) return add_name(dumps, below.size ? below : LEAT_SV("."));
  for (size_t i = 0; i < entries.count && dumps->count < MAX_DUMPS; ++i) {
    leat_string_view_t path, inner;
    struct stat entry;
    LEAT_RETURN_IF_ERROR(join(dumps->arena, directory, entries.items[i], &path));
    if (lstat(path.data, &entry) || !S_ISDIR(entry.st_mode) || depth >= MAX_DEPTH) continue;
    LEAT_RETURN_IF_ERROR(join(dumps->arena, below, entries.items[i], &inner));
    LEAT_RETURN_IF_ERROR(find_dumps(dumps, path, inner, entries.items[i], depth + 1));
  }
  return leat_ok_status();
}

leat_status_t board_dump_store_list(const char* logdir, leat_arena_t* arena,
                                    leat_string_view_t** out_names, size_t* out_count) {
  names_t dumps = {.arena = arena};
  LEAT_RETURN_IF_ERROR(find_dumps(&dumps, leat_string_view_from(logdir), LEAT_SV(""), LEAT_SV(""),
                                  0));
  *out_names = dumps.items;
  *out_count = dumps.count;
  return leat_ok_status();
}

// ---- Reading ------------------------------------------------------------------------------------

static int compare_files(const void* a, const void* b) {
  const dump_file_t *x = a, *y = b;
  const int order = leat_string_view_compare(x->name.node, y->name.node);
  if (order) return order;
  if (x->name.slot != y->name.slot) return x->name.slot < y->name.slot ? -1 : 1;
  // Of a value and its summary, the value is read last, and tells more.
  if (x->name.is_summary != y->name.is_summary) return x->name.is_summary ? -1 : 1;
  return (x->name.time_us > y->name.time_us) - (x->name.time_us < y->name.time_us);
}

static uint64_t count_bad(const board_dump_tensor_t* t) {
  return t->nan + t->negative_infinity + t->positive_infinity;
}

// Joins what one file says to the values.
static void add_value(board_dump_t* dump, const dump_file_t* file,
                      const board_dump_tensor_t* tensor) {
  board_dump_value_t* last = dump->count ? &dump->values[dump->count - 1] : NULL;
  if (!last || last->slot != file->name.slot ||
      !leat_string_view_equal(last->node, file->name.node)) {
    last = &dump->values[dump->count++];
    *last = (board_dump_value_t){.node = file->name.node, .slot = file->name.slot};
  }
  const bool is_first_of_kind = tensor->has_buckets && !last->tensor.has_buckets;
  last->times = is_first_of_kind ? 1 : last->times + 1;
  if (last->times > 1 && count_bad(tensor) < count_bad(&last->tensor)) return;
  last->tensor = *tensor;
  last->time_us = file->name.time_us;
}

static leat_status_t read_files(board_dump_store_t* store, files_t* files) {
  leat_arena_t* arena = &store->arena;
  board_dump_t* dump = &store->dump;
  qsort(files->items, files->count, sizeof *files->items, compare_files);
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, files->count + 1, &dump->values));
  for (size_t i = 0; i < files->count; ++i) {
    board_dump_tensor_t tensor;
    dump_file_t file = files->items[i];
    leat_status_t status = board_dump_read(file.path.data, &file.name, &tensor);
    dump->unread += status != NULL;
    if (leat_status_code(status) == LEAT_RESOURCE_EXHAUSTED) return status;
    leat_status_free(status);
    if (status) continue;
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, file.name.node, &file.name.node));
    add_value(dump, &file, &tensor);
  }
  return leat_ok_status();
}

// Brings what is kept up to the dump |name| at |directory|.
static leat_status_t refresh(board_dump_store_t* store, leat_string_view_t directory,
                             leat_string_view_t name, leat_arena_t* arena) {
  files_t files = {.arena = arena, .most = MAX_FILES};
  leat_status_t status = collect(&files, directory, LEAT_SV(""), 0);
  const bool is_kept = leat_string_view_equal(store->name, name) && store->mark == files.mark;
  if (!status && !is_kept) {
    leat_arena_deinitialize(&store->arena);
    leat_arena_initialize(leat_allocator_system(), 0, &store->arena);
    store->dump = (board_dump_t){0};
    store->name = LEAT_SV("");
    status = leat_arena_copy_string(&store->arena, name, &name);
    if (!status) status = read_files(store, &files);
    if (!status) {
      store->name = name;
      store->mark = files.mark;
    }
  }
  leat_allocator_free(leat_allocator_system(), files.items);
  return status;
}

static leat_status_t find_directory(const char* logdir, leat_string_view_t name,
                                    leat_arena_t* arena, leat_string_view_t* out_path) {
  leat_string_view_t* names;
  size_t count;
  LEAT_RETURN_IF_ERROR(board_dump_store_list(logdir, arena, &names, &count));
  for (size_t i = 0; i < count; ++i) {
    if (!leat_string_view_equal(names[i], name)) continue;
    return join(arena, leat_string_view_from(logdir), name, out_path);
  }
  return leat_make_status(LEAT_NOT_FOUND, "Not found: there is no dump '%.*s'", LEAT_SV_ARG(name));
}

leat_status_t board_dump_store_visit(board_dump_store_t* store, const char* logdir,
                                     leat_string_view_t name,
                                     leat_status_t (*visit)(void* data, const board_dump_t* dump),
                                     void* data) {
  leat_string_view_t directory;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = find_directory(logdir, name, &arena, &directory);
  leat_mutex_lock(&store->lock);
  if (!status) status = refresh(store, directory, name, &arena);
  if (!status) status = visit(data, &store->dump);
  leat_mutex_unlock(&store->lock);
  leat_arena_deinitialize(&arena);
  return status;
}
