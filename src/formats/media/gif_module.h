// The interface of leat_module_gif.so: what the GIF library does for us.
#ifndef LEAT_FORMATS_MEDIA_GIF_MODULE_H_
#define LEAT_FORMATS_MEDIA_GIF_MODULE_H_

#include "formats/media/image_file.h"

typedef struct leat_gif_module_s {
  size_t struct_size;
  const char* version;
  // The first |most_frames| frames of a file as RGB, each over the one before it. INVALID_ARGUMENT
  // for bad data, ABORTED where |target| refuses, RESOURCE_EXHAUSTED without memory. |out_reason|
  // is a text that lives for ever, or NULL.
  int (*decode)(const uint8_t* bytes, size_t size, int64_t most_frames,
                const leat_image_target_t* target, const char** out_reason);
} leat_gif_module_t;

// The module's only exported symbol, `leat_module_gif`, has this type.
const leat_gif_module_t* leat_module_gif(void);

#endif  // LEAT_FORMATS_MEDIA_GIF_MODULE_H_
