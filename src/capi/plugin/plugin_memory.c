// Memory of plug-ins' devices. Tensors take blocks, whose headers are the host's; the bytes are
// what the plug-in's allocate gave (|opaque|), or its host_memory_allocate. Sizes are rounded up to
// classes, eight to a doubling, so that a step which runs again finds the blocks that came back and
// calls the plug-in no more.
//
//   class  ... 2048  2304  2560  2816  3072  3328  3584  3840  4096  4608 ...
//
// A block that comes back may still be used by work that was enqueued. It is given out again at
// once, since whatever the next owner enqueues runs behind that work: kernels have one stream, and
// copies wait for it. Blocks only go back to the plug-in when the device has ended all work.
// Without the platform's use_bfc_allocator nothing of the device's is kept, and the plug-in's
// deallocate is called with work under way, as TensorFlow does. The plug-in is then asked for just
// the bytes of the tensor: kernels of such plug-ins take a block's size for that of what is in it.
#include "base/checked.h"
#include "capi/plugin/plugin_device.h"

#define CLASSES 400
#define SMALLEST_SHIFT 8  // 256 bytes
typedef enum { OF_DEVICE, OF_HOST, KINDS } kind_t;

typedef struct block_s {
  leat_buffer_t buffer;
  leat_plugin_memory_t* memory;  // retained while the block is in use
  kind_t kind;
  int size_class;
  uint64_t taken_bytes;      // of the plug-in
  SP_DeviceMemoryBase base;  // |opaque| alone counts for the host's
  struct block_s* next;      // while it is kept
} block_t;

typedef struct source_s {
  leat_buffer_source_t source;
  leat_plugin_memory_t* memory;
  kind_t kind;
} source_t;

struct leat_plugin_memory_s {
  leat_reference_count_t references;
  leat_platform_t* platform;
  leat_hardware_t* hardware;
  int64_t limit_bytes;
  source_t sources[KINDS];
  leat_mutex_t mutex;
  int64_t taken_bytes[KINDS];  // from the plug-in, blocks that are kept included
  block_t* kept[KINDS][CLASSES];
};

// ---- Sizes --------------------------------------------------------------------------------------

// The bytes of a class: 2^k * (8 + m) / 8.
static uint64_t class_bytes(int size_class) {
  return (UINT64_C(8) + (uint64_t)(size_class % 8)) << (size_class / 8 + SMALLEST_SHIFT - 3);
}

// The smallest class that has |bytes|; CLASSES where none has.
static int class_of(size_t bytes) {
  int size_class = 0;
  const int octave = bytes > 512 ? 63 - __builtin_clzll((uint64_t)bytes) - SMALLEST_SHIFT : 0;
  if (octave > 48) return CLASSES;
  size_class = octave * 8;
  while (size_class < CLASSES && class_bytes(size_class) < bytes) ++size_class;
  return size_class;
}

// Whether blocks that come back are kept for the next tensors.
static bool keeps_blocks(const leat_plugin_memory_t* m, kind_t kind) {
  return kind == OF_HOST || m->platform->platform.use_bfc_allocator;
}

// ---- The plug-in --------------------------------------------------------------------------------

static void ask_plugin(const leat_plugin_memory_t* m, block_t* block) {
  const SP_StreamExecutor* executor = &m->platform->executor;
  const uint64_t bytes = block->taken_bytes;
  block->base = (SP_DeviceMemoryBase){.struct_size = SP_DEVICE_MEMORY_BASE_STRUCT_SIZE};
  if (block->kind == OF_DEVICE) {
    executor->allocate(&m->hardware->device, bytes, 0, &block->base);
  } else {
    block->base.opaque = executor->host_memory_allocate(&m->hardware->device, bytes);
  }
}

static void give_to_plugin(const leat_plugin_memory_t* m, block_t* block) {
  const SP_StreamExecutor* executor = &m->platform->executor;
  if (block->kind == OF_DEVICE) {
    executor->deallocate(&m->hardware->device, &block->base);
  } else {
    executor->host_memory_deallocate(&m->hardware->device, block->base.opaque);
  }
  leat_allocator_free(leat_allocator_system(), block);
}

// Gives all kept blocks back, when the device has ended its work.
static void trim(leat_plugin_memory_t* m) {
  TF_Status status = {0};
  m->platform->executor.synchronize_all_activity(&m->hardware->device, &status);
  leat_status_free(leat_capi_status_take(&status));
  leat_mutex_lock(&m->mutex);
  for (int kind = 0; kind < KINDS; ++kind) {
    for (int i = 0; i < CLASSES; ++i) {
      for (block_t* b; (b = m->kept[kind][i]) != NULL;) {
        m->kept[kind][i] = b->next;
        m->taken_bytes[kind] -= (int64_t)b->taken_bytes;
        give_to_plugin(m, b);
      }
    }
  }
  leat_mutex_unlock(&m->mutex);
}

// ---- Blocks -------------------------------------------------------------------------------------

static void destroy_block(leat_buffer_t* buffer) {
  block_t* block = (block_t*)buffer;
  leat_plugin_memory_t* m = block->memory;
  leat_mutex_lock(&m->mutex);
  if (keeps_blocks(m, block->kind)) {
    block->next = m->kept[block->kind][block->size_class];
    m->kept[block->kind][block->size_class] = block;
  } else {
    m->taken_bytes[block->kind] -= (int64_t)block->taken_bytes;
    give_to_plugin(m, block);
  }
  leat_mutex_unlock(&m->mutex);
  leat_plugin_memory_release(m);
}

static const leat_buffer_vtable_t kBlock = {destroy_block};

static block_t* take_kept(leat_plugin_memory_t* m, kind_t kind, int size_class) {
  leat_mutex_lock(&m->mutex);
  block_t* block = m->kept[kind][size_class];
  if (block) m->kept[kind][size_class] = block->next;
  leat_mutex_unlock(&m->mutex);
  return block;
}

// Asks the plug-in for a new block, unless the device would have more than it may. NULL where there
// is none.
static block_t* make_block(leat_plugin_memory_t* m, kind_t kind, int size_class,
                           size_t size_bytes) {
  const uint64_t asked = keeps_blocks(m, kind) ? class_bytes(size_class) : LEAT_MAX(size_bytes, 1);
  const int64_t bytes = (int64_t)asked;
  block_t* block = leat_capi_allocate(sizeof *block);
  if (!block) return NULL;
  leat_mutex_lock(&m->mutex);
  const bool fits = kind == OF_HOST || m->limit_bytes <= 0 ||
                    bytes <= m->limit_bytes - m->taken_bytes[kind];
  if (fits) m->taken_bytes[kind] += bytes;
  leat_mutex_unlock(&m->mutex);
  block->kind = kind;
  block->size_class = size_class;
  block->taken_bytes = asked;
  if (fits) ask_plugin(m, block);
  if (block->base.opaque) return block;
  leat_mutex_lock(&m->mutex);
  if (fits) m->taken_bytes[kind] -= bytes;
  leat_mutex_unlock(&m->mutex);
  leat_allocator_free(leat_allocator_system(), block);
  return NULL;
}

static leat_status_t allocate(leat_buffer_source_t* self, size_t size_bytes,
                              leat_buffer_t** out_buffer) {
  const source_t* source = (const source_t*)self;
  leat_plugin_memory_t* m = source->memory;
  const int size_class = class_of(size_bytes);
  block_t* block = NULL;
  *out_buffer = NULL;
  if (size_class < CLASSES) {
    block = take_kept(m, source->kind, size_class);
    if (!block) block = make_block(m, source->kind, size_class, size_bytes);
    if (!block) {
      trim(m);
      block = make_block(m, source->kind, size_class, size_bytes);
    }
  }
  if (!block) {
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                            "Allocation of %zu bytes failed: device %s:%d has no such memory%s",
                            size_bytes, m->platform->platform.type,
                            (int)m->hardware->device.ordinal,
                            source->kind == OF_HOST ? " with the host" : "");
  }
  leat_reference_count_retain(&m->references);
  block->memory = m;
  block->buffer = (leat_buffer_t){.vtable = &kBlock,
                                  .data = block->base.opaque,
                                  .size_bytes = size_bytes,
                                  .references = 1};
  *out_buffer = &block->buffer;
  return leat_ok_status();
}

static const leat_buffer_source_vtable_t kSource = {allocate};

// ---- Life ---------------------------------------------------------------------------------------

leat_status_t leat_plugin_memory_create(leat_platform_t* platform, leat_hardware_t* hardware,
                                        int64_t limit_bytes, leat_plugin_memory_t** out_memory) {
  leat_plugin_memory_t* m = leat_capi_allocate(sizeof *m);
  if (!m) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for a device ran out");
  m->references = 1;
  m->platform = platform;
  m->hardware = hardware;
  m->limit_bytes = limit_bytes;
  leat_mutex_initialize(&m->mutex);
  for (int kind = 0; kind < KINDS; ++kind) {
    m->sources[kind] = (source_t){{&kSource}, m, (kind_t)kind};
  }
  *out_memory = m;
  return leat_ok_status();
}

void leat_plugin_memory_release(leat_plugin_memory_t* memory) {
  if (!memory || !leat_reference_count_release(&memory->references)) return;
  trim(memory);
  leat_mutex_deinitialize(&memory->mutex);
  leat_allocator_free(leat_allocator_system(), memory);
}

const leat_platform_t* leat_plugin_memory_platform(const leat_plugin_memory_t* memory) {
  return memory->platform;
}

leat_buffer_source_t* leat_plugin_memory_device(leat_plugin_memory_t* memory) {
  return &memory->sources[OF_DEVICE].source;
}

leat_buffer_source_t* leat_plugin_memory_host(leat_plugin_memory_t* memory) {
  return &memory->sources[OF_HOST].source;
}
