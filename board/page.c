// The page and what it loads. The page is a text with a mark where the prefix of all addresses
// stands, which the server alone knows; the prefix is that of the command line, and is escaped as
// an attribute's value.
#include "board/api.h"
#include "board/asset.h"

#define MARK LEAT_SV("@PREFIX@")

static const board_asset_t* find_asset(const char* name) {
  const board_asset_t* asset = board_assets;
  while (asset->name && strcmp(asset->name, name)) ++asset;
  return asset;
}

static void append_attribute(const char* text, leat_string_builder_t* out) {
  for (; *text; ++text) {
    if (strchr("<>&\"'", *text)) {
      leat_string_builder_print(out, "&#%d;", *text);
    } else {
      leat_string_builder_append_char(out, *text);
    }
  }
}

leat_status_t board_api_page(board_api_t* api, const board_request_t* request,
                             board_response_t* response) {
  const board_asset_t* page = find_asset("page.html");
  leat_string_view_t rest = leat_string_view_make((const char*)page->data, page->size);
  response->content_type = "text/html; charset=utf-8";
  while (rest.size) {
    size_t size = leat_string_view_find(rest, MARK.data[0]);
    if (size > rest.size) size = rest.size;
    leat_string_builder_append(&response->body, leat_string_view_make(rest.data, size));
    rest = leat_string_view_from_index(rest, size);
    if (leat_string_view_starts_with(rest, MARK)) {
      append_attribute(api->path_prefix, &response->body);
      rest = leat_string_view_from_index(rest, MARK.size);
    } else if (rest.size) {
      leat_string_builder_append_char(&response->body, rest.data[0]);
      rest = leat_string_view_from_index(rest, 1);
    }
  }
  return leat_ok_status();
}

static void append_asset(const char* name, const char* content_type, board_response_t* response) {
  const board_asset_t* asset = find_asset(name);
  response->content_type = content_type;
  response->gzip = leat_string_view_make((const char*)asset->gzip, asset->gzip_size);
  leat_string_builder_append(&response->body,
                             leat_string_view_make((const char*)asset->data, asset->size));
}

leat_status_t board_api_style(board_api_t* api, const board_request_t* request,
                              board_response_t* response) {
  append_asset("page.css", "text/css; charset=utf-8", response);
  return leat_ok_status();
}

leat_status_t board_api_script(board_api_t* api, const board_request_t* request,
                               board_response_t* response) {
  append_asset("page.js", "text/javascript; charset=utf-8", response);
  return leat_ok_status();
}
