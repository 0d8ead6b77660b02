#include "formats/media/gif.h"

#include "base/module.h"

static leat_module_t gif = {
    .name = "gif", .struct_size = sizeof(leat_gif_module_t), .package = "libgif7"};

leat_status_t leat_gif_decode(const uint8_t* bytes, size_t size, int64_t most_frames,
                              const leat_image_target_t* target) {
  const void* table;
  const char* reason = NULL;
  LEAT_RETURN_IF_ERROR(leat_module_load(&gif, &table));
  int code = ((const leat_gif_module_t*)table)->decode(bytes, size, most_frames, target, &reason);
  if (code == LEAT_OK) return leat_ok_status();
  return leat_make_status((leat_status_code_t)code, "Invalid GIF data (size %zu), %s", size,
                          reason ? reason : "unknown error");
}
