#include "formats/media/jpeg.h"

#include "base/module.h"

static leat_module_t jpeg = {
    .name = "jpeg", .struct_size = sizeof(leat_jpeg_module_t), .package = "libjpeg62-turbo"};

static bool append(void* data, const void* bytes, size_t size) {
  leat_string_builder_t* file = data;
  leat_string_builder_append(file, leat_string_view_make(bytes, size));
  return !file->status;
}

leat_status_t leat_jpeg_encode(const leat_jpeg_image_t* image, leat_string_builder_t* out_file) {
  const void* table;
  LEAT_RETURN_IF_ERROR(leat_module_load(&jpeg, &table));
  int code = ((const leat_jpeg_module_t*)table)->encode(image, append, out_file);
  if (code) return leat_make_status((leat_status_code_t)code, "JPEG encoding failed");
  return leat_status_clone(out_file->status);
}

leat_status_t leat_jpeg_decode(const leat_jpeg_file_t* file, const leat_image_target_t* target) {
  const void* table;
  LEAT_RETURN_IF_ERROR(leat_module_load(&jpeg, &table));
  int code = ((const leat_jpeg_module_t*)table)->decode(file, target);
  if (code == LEAT_OK) return leat_ok_status();
  return leat_make_status((leat_status_code_t)code,
                          "jpeg::Uncompress failed. Invalid JPEG data or crop window.");
}

leat_status_t leat_jpeg_read_size(const uint8_t* bytes, size_t size, leat_image_size_t* out_size) {
  const void* table;
  LEAT_RETURN_IF_ERROR(leat_module_load(&jpeg, &table));
  int code = ((const leat_jpeg_module_t*)table)->read_size(bytes, size, out_size);
  if (code == LEAT_OK) return leat_ok_status();
  return leat_make_status((leat_status_code_t)code, "Invalid JPEG data, size %zu", size);
}
