#include "formats/media/webp.h"

#include "base/module.h"

static leat_module_t webp = {
    .name = "webp", .struct_size = sizeof(leat_webp_module_t), .package = "libwebpdemux2"};

leat_status_t leat_webp_decode(const uint8_t* bytes, size_t size, int channels,
                               int64_t most_frames, const leat_image_target_t* target) {
  const void* table;
  const char* reason = "unknown error";
  LEAT_RETURN_IF_ERROR(leat_module_load(&webp, &table));
  const int code = ((const leat_webp_module_t*)table)
                       ->decode(bytes, size, channels, most_frames, target, &reason);
  if (code == LEAT_OK) return leat_ok_status();
  return leat_make_status((leat_status_code_t)code, "Invalid WebP data (size %zu): %s", size,
                          reason);
}
