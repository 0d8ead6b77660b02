// leat/cpp/attribute.hpp: attributes of operations: types, sizes, names of functions. Part of
// leat/leat.hpp.
//
// The wrappers of ops take attributes as C++ values. An AttrValue is one of any kind:
//
//   OpBuilder(scope, "Placeholder").attribute("dtype", DT_FLOAT).attribute("shape", TensorShape{2})
//
// It owns its value. Whether an op takes that kind is seen when the operation is added.
#ifndef LEAT_CPP_ATTRIBUTE_HPP_
#define LEAT_CPP_ATTRIBUTE_HPP_

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/cpp/tensor.hpp"

LEAT_CPP_BEGIN_NAMESPACE

/// The name of a function of the graph, as the value of an attribute.
struct FunctionName {
  FunctionName(std::string name) : name(std::move(name)) {}
  FunctionName(const char* name) : name(name) {}
  std::string name;
};

/// The value of an attribute: a number, text, type, shape, tensor or function, or a list of them.
/// An int may be given for an int64, a double for a float.
class AttrValue {
 public:
  AttrValue(bool value) : kind_('b'), integer_(value) {}
  template <class T, class = std::enable_if_t<std::is_integral<T>::value>, class = void>
  AttrValue(T value) : kind_('i'), integer_(static_cast<std::int64_t>(value)) {}
  AttrValue(float value) : kind_('f'), real_(value) {}
  AttrValue(double value) : kind_('f'), real_(static_cast<float>(value)) {}
  LEAT_CPP_COLD AttrValue(const char* value) : kind_('s'), texts_{value} {}
  LEAT_CPP_COLD AttrValue(std::string value) : kind_('s'), texts_{std::move(value)} {}
  AttrValue(DataType value) : kind_('t'), integer_(value) {}
  LEAT_CPP_COLD AttrValue(const TensorShape& value)
      : kind_('h'), integer_(value.rank()), integers_(value.dims()) {}
  LEAT_CPP_COLD AttrValue(const Tensor& value) : kind_('v'), tensor_(value) {}
  LEAT_CPP_COLD AttrValue(const FunctionName& value) : kind_('F'), texts_{value.name} {}
  AttrValue(std::vector<std::int64_t> values) : kind_('I'), integers_(std::move(values)) {}
  AttrValue(const std::vector<int>& values)
      : kind_('I'), integers_(values.begin(), values.end()) {}
  AttrValue(std::vector<float> values) : kind_('R'), reals_(std::move(values)) {}
  AttrValue(std::vector<std::string> values) : kind_('S'), texts_(std::move(values)) {}
  LEAT_CPP_COLD AttrValue(const std::vector<DataType>& values)
      : kind_('T'), integers_(values.begin(), values.end()) {}
  LEAT_CPP_COLD AttrValue(const std::vector<TensorShape>& values) : kind_('H') {
    for (const TensorShape& shape : values) {
      integers_.push_back(shape.rank());
      integers_.insert(integers_.end(), shape.dims().begin(), shape.dims().end());
    }
  }
  AttrValue(const std::vector<bool>& values)
      : kind_('B'), integers_(values.begin(), values.end()) {}
  LEAT_CPP_COLD AttrValue(const std::vector<FunctionName>& values) : kind_('G') {
    for (const FunctionName& value : values) texts_.push_back(value.name);
  }
  LEAT_CPP_COLD AttrValue(const AttrValue& other) = default;
  AttrValue& operator=(const AttrValue& other) = default;
  LEAT_CPP_COLD ~AttrValue() = default;

  inline void set(TF_OperationDescription* description, const char* name, TF_Status* status) const;

 private:
  char kind_;                 // tells set() which function of the C API takes the value
  std::int64_t integer_ = 0;  // also a boolean, a type, or the rank of a shape
  float real_ = 0;
  std::vector<std::int64_t> integers_;  // also booleans, types, and shapes: their rank, then sizes
  std::vector<float> reals_;
  std::vector<std::string> texts_;
  Tensor tensor_;
};

inline void AttrValue::set(TF_OperationDescription* d, const char* name,
                           TF_Status* status) const {
  const int count = static_cast<int>(integers_.size() + reals_.size() + texts_.size());
  switch (kind_) {
    case 'b': return TF_SetAttrBool(d, name, integer_ != 0);
    case 'i': return TF_SetAttrInt(d, name, integer_);
    case 'f': return TF_SetAttrFloat(d, name, real_);
    case 's': return TF_SetAttrString(d, name, texts_[0].data(), texts_[0].size());
    case 't': return TF_SetAttrType(d, name, static_cast<DataType>(integer_));
    case 'h': return TF_SetAttrShape(d, name, integers_.data(), static_cast<int>(integer_));
    case 'v': return TF_SetAttrTensor(d, name, tensor_.get(), status);
    case 'F': return TF_SetAttrFuncName(d, name, texts_[0].data(), texts_[0].size());
    case 'I': return TF_SetAttrIntList(d, name, integers_.data(), count);
    case 'R': return TF_SetAttrFloatList(d, name, reals_.data(), count);
    case 'T': {
      std::vector<DataType> types;
      for (const std::int64_t type : integers_) types.push_back(static_cast<DataType>(type));
      return TF_SetAttrTypeList(d, name, types.data(), count);
    }
    case 'B': {
      const std::vector<unsigned char> values(integers_.begin(), integers_.end());
      return TF_SetAttrBoolList(d, name, values.data(), count);
    }
    case 'S': {
      std::vector<const void*> values;
      std::vector<std::size_t> sizes;
      for (const std::string& text : texts_) {
        values.push_back(text.data());
        sizes.push_back(text.size());
      }
      return TF_SetAttrStringList(d, name, values.data(), sizes.data(), count);
    }
    case 'H': {
      std::vector<const std::int64_t*> dims;
      std::vector<int> ranks;
      for (std::size_t i = 0; i < integers_.size();) {
        const std::int64_t rank = integers_[i++];  // -1 where it is unknown
        ranks.push_back(static_cast<int>(rank));
        dims.push_back(integers_.data() + i);
        i += rank > 0 ? static_cast<std::size_t>(rank) : 0;
      }
      return TF_SetAttrShapeList(d, name, dims.data(), ranks.data(),
                                 static_cast<int>(ranks.size()));
    }
    case 'G': {  // an AttrValue message: list { func { name: "..." } ... }
      std::string text = "list {";
      for (const std::string& function : texts_) text += " func { name: \"" + function + "\" }";
      Handle<TF_Buffer, TF_DeleteBuffer> in(
          TF_NewBufferFromString((text + " }").data(), text.size() + 2));
      Handle<TF_Buffer, TF_DeleteBuffer> out(leat_message_from_text("AttrValue", in.get(), status));
      if (out) TF_SetAttrValueProto(d, name, out.get()->data, out.get()->length, status);
      return;
    }
    default: return;
  }
}

/// An attribute with its name.
struct Attribute {
  std::string name;
  AttrValue value;
};

LEAT_CPP_END_NAMESPACE

#endif  // LEAT_CPP_ATTRIBUTE_HPP_
