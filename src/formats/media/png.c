#include "formats/media/png.h"

#include "base/module.h"

static leat_module_t png = {
    .name = "png", .struct_size = sizeof(leat_png_module_t), .package = "libpng16-16"};

static bool append(void* data, const void* bytes, size_t size) {
  leat_string_builder_t* file = data;
  leat_string_builder_append(file, leat_string_view_make(bytes, size));
  return !file->status;
}

leat_status_t leat_png_encode(const leat_png_image_t* image, leat_string_builder_t* out_file) {
  const void* table;
  LEAT_RETURN_IF_ERROR(leat_module_load(&png, &table));
  int code = ((const leat_png_module_t*)table)->encode(image, append, out_file);
  if (code) return leat_make_status((leat_status_code_t)code, "PNG encoding failed");
  return leat_status_clone(out_file->status);
}
