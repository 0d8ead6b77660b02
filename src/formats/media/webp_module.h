// The interface of leat_module_webp.so: what the WebP library does for us.
#ifndef LEAT_FORMATS_MEDIA_WEBP_MODULE_H_
#define LEAT_FORMATS_MEDIA_WEBP_MODULE_H_

#include "formats/media/image_file.h"

typedef struct leat_webp_module_s {
  size_t struct_size;
  const char* version;
  // The first |most_frames| frames of a file, as RGB, or with alpha where the file has it or is
  // animated. |channels| must be the file's, or 0. INVALID_ARGUMENT for bad data and for other
  // channels, ABORTED where |target| refuses, RESOURCE_EXHAUSTED without memory. |out_reason| is a
  // text that lives for ever.
  int (*decode)(const uint8_t* bytes, size_t size, int channels, int64_t most_frames,
                const leat_image_target_t* target, const char** out_reason);
} leat_webp_module_t;

// The module's only exported symbol, `leat_module_webp`, has this type.
const leat_webp_module_t* leat_module_webp(void);

#endif  // LEAT_FORMATS_MEDIA_WEBP_MODULE_H_
