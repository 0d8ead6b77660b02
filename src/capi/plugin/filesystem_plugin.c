// TF_RegisterFilesystemPlugin: opens a shared library and registers the file systems that its
// TF_InitPlugin describes, one for each URI scheme. A file system comes as four tables of functions
// with version numbers:
//
//     operations of the file system, random access files, writable files, memory regions
//
// A table of another ABI version is refused; of another API version it may be longer or shorter
// than Leat's, and is copied as far as both go, so that functions unknown to one side are missing.
// After the check that nothing essential lacks, the file system's init is called and the scheme
// registered. A scheme that is not in order does not hinder the others; the first error is the
// status. The library stays open in any case, because registered functions lie in it. The plugin
// allocated the tables, so that they are freed with the plugin's function.
#include <string.h>

#include "base/checked.h"
#include "base/library.h"
#include "base/log.h"
#include "capi/plugin/plugin.h"
#include "capi/plugin/plugin_file_system.h"

// One of the four tables: what the plugin says of it, and where its copy goes.
typedef struct table_s {
  const char* name;
  const void* ops;
  size_t size;
  int abi, api;
  int expected_abi, expected_api;
  void* copy;
  size_t copy_size;
} table_t;

// Copies a table. Its size may differ from Leat's: then it has functions that Leat does not know,
// or lacks the last ones, which stay NULL.
static leat_status_t copy_table(const table_t* table) {
  if (!table->ops) return leat_ok_status();
  if (table->abi != table->expected_abi) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Plugin ABI (%d) for %s operations doesn't match expected core ABI "
                            "(%d). Plugin cannot be loaded.",
                            table->abi, table->name, table->expected_abi);
  }
  if (table->api != table->expected_api) {
    leat_log(LEAT_LOG_WARNING,
             "Plugin API (%d) for %s operations doesn't match expected core API (%d). Plugin will "
             "be loaded but functionality might be missing.",
             table->api, table->name, table->expected_api);
  }
  memcpy(table->copy, table->ops, LEAT_MIN(table->size, table->copy_size));
  return leat_ok_status();
}

static leat_status_t copy_tables(const TF_FilesystemPluginOps* p, leat_plugin_file_system_t* fs) {
  const table_t tables[] = {
      {"filesystem", p->filesystem_ops, p->filesystem_ops_size, p->filesystem_ops_abi,
       p->filesystem_ops_api, TF_FILESYSTEM_OPS_ABI, TF_FILESYSTEM_OPS_API, &fs->ops,
       sizeof fs->ops},
      {"random access file", p->random_access_file_ops, p->random_access_file_ops_size,
       p->random_access_file_ops_abi, p->random_access_file_ops_api, TF_RANDOM_ACCESS_FILE_OPS_ABI,
       TF_RANDOM_ACCESS_FILE_OPS_API, &fs->reader, sizeof fs->reader},
      {"writable file", p->writable_file_ops, p->writable_file_ops_size, p->writable_file_ops_abi,
       p->writable_file_ops_api, TF_WRITABLE_FILE_OPS_ABI, TF_WRITABLE_FILE_OPS_API, &fs->writer,
       sizeof fs->writer},
      {"read only memory region", p->read_only_memory_region_ops,
       p->read_only_memory_region_ops_size, p->read_only_memory_region_ops_abi,
       p->read_only_memory_region_ops_api, TF_READ_ONLY_MEMORY_REGION_OPS_ABI,
       TF_READ_ONLY_MEMORY_REGION_OPS_API, &fs->region, sizeof fs->region}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(tables); ++i) {
    LEAT_RETURN_IF_ERROR(copy_table(&tables[i]));
  }
  return leat_ok_status();
}

// Checks that the copies have the functions that Leat calls without looking.
static leat_status_t check_tables(const TF_FilesystemPluginOps* p,
                                  const leat_plugin_file_system_t* fs) {
  const TF_FilesystemOps* ops = &fs->ops;
  const TF_ReadOnlyMemoryRegionOps* region = &fs->region;
  const bool reads = p->random_access_file_ops, writes = p->writable_file_ops,
             maps = p->read_only_memory_region_ops;
  const struct {
    bool is_met;
    const char* lack;
  } rules[] = {
      {p->filesystem_ops, "operations"},
      {ops->init, "`init` operation"},
      {ops->cleanup, "`cleanup` operation"},
      {!reads || fs->reader.cleanup, "`cleanup` operation on random access files"},
      {!writes || fs->writer.cleanup, "`cleanup` operation on writable files"},
      {!maps || region->cleanup, "`cleanup` operation on read only memory regions"},
      {!maps || region->data, "`data` operation on read only memory regions"},
      {!maps || region->length, "`length` operation on read only memory regions"},
      {reads || !ops->new_random_access_file, "operations on the random access files it creates"},
      {writes || !(ops->new_writable_file || ops->new_appendable_file),
       "operations on the writable files it creates"},
      {maps || !ops->new_read_only_memory_region_from_file,
       "operations on the read only memory regions it creates"},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(rules); ++i) {
    if (rules[i].is_met) continue;
    return leat_make_status(LEAT_FAILED_PRECONDITION, "Trying to register filesystem without %s",
                            rules[i].lack);
  }
  return leat_ok_status();
}

// Lets the plugin initialize its state and registers the file system, which stays from then on. A
// scheme that is taken is an error.
static leat_status_t start(const char* scheme, leat_plugin_file_system_t* fs) {
  TF_Status status = {NULL, NULL};
  fs->ops.init(&fs->state, &status);
  LEAT_RETURN_IF_ERROR(leat_capi_status_take(&status));
  leat_status_t result = leat_file_system_register(scheme, &fs->base);
  if (result) fs->ops.cleanup(&fs->state);
  return result;
}

static leat_status_t register_scheme(const TF_FilesystemPluginInfo* info,
                                     const TF_FilesystemPluginOps* p) {
  leat_plugin_file_system_t* fs = NULL;
  if (!p->scheme) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Attempted to register filesystem with `nullptr` URI scheme");
  }
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &fs));
  fs->base.vtable = &leat_plugin_file_system_vtable;
  fs->free = info->plugin_memory_free;
  leat_status_t status = copy_tables(p, fs);
  if (!status) status = check_tables(p, fs);
  if (!status) status = start(p->scheme, fs);
  if (status) leat_allocator_free(leat_allocator_system(), fs);
  return status;
}

// Registers the file systems of all schemes of the plugin, and frees what the plugin allocated to
// describe them.
static leat_status_t register_all(const TF_FilesystemPluginInfo* info) {
  if (!info->plugin_memory_allocate || !info->plugin_memory_free) {
    return leat_make_status(
        LEAT_FAILED_PRECONDITION, "Cannot load filesystem plugin which does not provide `%s`",
        info->plugin_memory_allocate ? "plugin_memory_free" : "plugin_memory_allocate");
  }
  leat_status_t status = leat_ok_status();
  for (size_t i = 0; i < info->num_schemes; ++i) {
    const TF_FilesystemPluginOps* p = &info->ops[i];
    status = leat_status_join(status, register_scheme(info, p));
    info->plugin_memory_free(p->scheme);
    info->plugin_memory_free(p->filesystem_ops);
    info->plugin_memory_free(p->random_access_file_ops);
    info->plugin_memory_free(p->writable_file_ops);
    info->plugin_memory_free(p->read_only_memory_region_ops);
  }
  info->plugin_memory_free(info->ops);
  return status;
}

static leat_status_t load(const char* path) {
  leat_library_t* library = NULL;
  TF_FilesystemPluginInfo info = {.num_schemes = 0};
  if (!path || !*path) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Loading failed: plugin has no name");
  }
  LEAT_RETURN_IF_ERROR(leat_library_open(path, &library));
  void (*initialize)(TF_FilesystemPluginInfo*) = leat_library_symbol(library, "TF_InitPlugin");
  if (!initialize) {
    leat_library_close(library);
    return leat_make_status(LEAT_NOT_FOUND, "Loading '%s' failed: it has no TF_InitPlugin", path);
  }
  initialize(&info);
  return register_all(&info);
}

void TF_RegisterFilesystemPlugin(const char* plugin_filename, TF_Status* status) {
  leat_capi_status_set(status, load(plugin_filename));
}
