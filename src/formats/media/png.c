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

leat_status_t leat_png_decode(const leat_png_file_t* file, const leat_image_target_t* target) {
  const void* table;
  LEAT_RETURN_IF_ERROR(leat_module_load(&png, &table));
  int code = ((const leat_png_module_t*)table)->decode(file, target);
  if (code == LEAT_OK) return leat_ok_status();
  if (code == LEAT_FAILED_PRECONDITION) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Invalid PNG. Failed to initialize decoder.");
  }
  return leat_make_status((leat_status_code_t)code, "Invalid PNG data, size %zu", file->size);
}
