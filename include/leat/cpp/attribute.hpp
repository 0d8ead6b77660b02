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
/// An int may be given for an int64, a double for a float. Copies share it.
class AttrValue {
 public:
  AttrValue(bool value) : AttrValue('b', static_cast<std::int64_t>(value)) {}
  template <class T, class = std::enable_if_t<std::is_integral<T>::value>, class = void>
  AttrValue(T value) : AttrValue('i', static_cast<std::int64_t>(value)) {}
  LEAT_CPP_COLD AttrValue(float value) : AttrValue('f', std::int64_t{0}) { value_->real = value; }
  AttrValue(double value) : AttrValue(static_cast<float>(value)) {}
  AttrValue(const char* value) : AttrValue('s', std::string_view(value)) {}
  AttrValue(const std::string& value) : AttrValue('s', std::string_view(value)) {}
  AttrValue(std::string_view value) : AttrValue('s', value) {}
  AttrValue(DataType value) : AttrValue('t', static_cast<std::int64_t>(value)) {}
  LEAT_CPP_COLD AttrValue(const TensorShape& value) : AttrValue('h', std::int64_t{value.rank()}) {
    value_->integers = value.dims();
  }
  LEAT_CPP_COLD AttrValue(const Tensor& value) : AttrValue('v', std::int64_t{0}) {
    value_->tensor = value;
  }
  AttrValue(const FunctionName& value) : AttrValue('F', std::string_view(value.name)) {}
  LEAT_CPP_COLD AttrValue(ListOf<std::int64_t> values) : AttrValue('I', values) {}
  LEAT_CPP_COLD AttrValue(ListOf<int> values) : AttrValue('I', values) {}
  LEAT_CPP_COLD AttrValue(ListOf<float> values) : AttrValue('R', std::int64_t{0}) {
    value_->text.assign(reinterpret_cast<const char*>(values.begin()),
                        values.size() * sizeof(float));
  }
  LEAT_CPP_COLD AttrValue(ListOf<std::string> values) : AttrValue('S', std::int64_t{0}) {
    for (const std::string& value : values) add_text(value);
  }
  LEAT_CPP_COLD AttrValue(ListOf<DataType> values) : AttrValue('T', values) {}
  LEAT_CPP_COLD AttrValue(ListOf<TensorShape> values)
      : AttrValue('H', static_cast<std::int64_t>(values.size())) {
    for (const TensorShape& shape : values) {
      value_->integers.push_back(shape.rank());
      for (const std::int64_t size : shape.dims()) value_->integers.push_back(size);
    }
  }
  LEAT_CPP_COLD AttrValue(const std::vector<bool>& values) : AttrValue('B', values) {}
  template <class T>
  AttrValue(const std::vector<T>& values) : AttrValue(ListOf<T>(values)) {}
  LEAT_CPP_COLD AttrValue(ListOf<FunctionName> values) : AttrValue('G', std::int64_t{0}) {
    for (const FunctionName& value : values) add_text(value.name);
  }

  void set(TF_OperationDescription* description, const char* name, TF_Status* status) const;

 private:
  struct Value {
    char kind;             // tells set() which function of the C API takes the value
    std::int64_t integer;  // also a boolean, a type, the rank of a shape, or a number of shapes
    float real;
    std::vector<std::int64_t> integers;  // also booleans, types, lengths of texts, and shapes: each
                                         // its rank, then its sizes
    std::string text;  // one, several behind each other, or the bytes of floats
    Tensor tensor;
  };
  LEAT_CPP_COLD AttrValue(char kind, std::int64_t integer)
      : value_(new Value{kind, integer, 0, {}, {}, {}}) {}
  LEAT_CPP_COLD AttrValue(char kind, std::string_view text) : AttrValue(kind, std::int64_t{0}) {
    value_->text = text;
  }
  template <class List>
  AttrValue(char kind, const List& values) : AttrValue(kind, std::int64_t{0}) {
    for (const auto value : values) value_->integers.push_back(static_cast<std::int64_t>(value));
  }
  void add_text(const std::string& text) const {
    value_->text += text;
    value_->integers.push_back(static_cast<std::int64_t>(text.size()));
  }
  detail::Shared<Value> value_;
};

LEAT_CPP_COLD inline void AttrValue::set(TF_OperationDescription* d, const char* name,
                                         TF_Status* status) const {
  const std::int64_t integer = value_->integer;
  const std::vector<std::int64_t>& integers = value_->integers;
  const std::string& text = value_->text;
  const int count = static_cast<int>(integers.size());
  switch (value_->kind) {
    case 'b': return TF_SetAttrBool(d, name, integer != 0);
    case 'i': return TF_SetAttrInt(d, name, integer);
    case 'f': return TF_SetAttrFloat(d, name, value_->real);
    case 's': return TF_SetAttrString(d, name, text.data(), text.size());
    case 't': return TF_SetAttrType(d, name, static_cast<DataType>(integer));
    case 'h': return TF_SetAttrShape(d, name, integers.data(), static_cast<int>(integer));
    case 'v': return TF_SetAttrTensor(d, name, value_->tensor.get(), status);
    case 'F': return TF_SetAttrFuncName(d, name, text.data(), text.size());
    case 'I': return TF_SetAttrIntList(d, name, integers.data(), count);
    case 'R': {
      const std::size_t size = text.size() / sizeof(float);
      const detail::Elements<float> values(size);
      std::memcpy(values.data(), text.data(), text.size());
      return TF_SetAttrFloatList(d, name, values.data(), static_cast<int>(size));
    }
    case 'T': {
      detail::Elements<DataType> types(integers.size());
      for (const std::int64_t type : integers) types.add(static_cast<DataType>(type));
      return TF_SetAttrTypeList(d, name, types.data(), count);
    }
    case 'B': {
      detail::Elements<unsigned char> values(integers.size());
      for (const std::int64_t value : integers) values.add(value != 0);
      return TF_SetAttrBoolList(d, name, values.data(), count);
    }
    case 'S': {
      detail::Elements<const void*> values(integers.size());
      detail::Elements<std::size_t> sizes(integers.size());
      const char* next = text.data();
      for (const std::int64_t size : integers) {
        values.add(next);
        sizes.add(static_cast<std::size_t>(size));
        next += size;
      }
      return TF_SetAttrStringList(d, name, values.data(), sizes.data(), count);
    }
    case 'H': {
      detail::Elements<const std::int64_t*> dims(static_cast<std::size_t>(integer));
      detail::Elements<int> ranks(static_cast<std::size_t>(integer));
      for (std::size_t i = 0; i < integers.size();) {
        const std::int64_t rank = integers[i++];  // -1 where it is unknown
        ranks.add(static_cast<int>(rank));
        dims.add(integers.data() + i);
        i += rank > 0 ? static_cast<std::size_t>(rank) : 0;
      }
      return TF_SetAttrShapeList(d, name, dims.data(), ranks.data(), ranks.count());
    }
    case 'G': {  // an AttrValue message: list { func { name: "..." } ... }
      std::string list = "list {";
      std::size_t next = 0;
      for (const std::int64_t size : integers) {
        list += " func { name: \"";
        list.append(text, next, static_cast<std::size_t>(size));
        list += "\" }";
        next += static_cast<std::size_t>(size);
      }
      list += " }";
      Handle<TF_Buffer, TF_DeleteBuffer> in(TF_NewBufferFromString(list.data(), list.size()));
      Handle<TF_Buffer, TF_DeleteBuffer> out(leat_message_from_text("AttrValue", in.get(), status));
      if (out) TF_SetAttrValueProto(d, name, out.get()->data, out.get()->length, status);
      return;
    }
    default: return;
  }
}

/// An attribute with its name.
struct Attribute {
  LEAT_CPP_COLD Attribute(std::string name, AttrValue value)
      : name(std::move(name)), value(std::move(value)) {}
  LEAT_CPP_COLD Attribute(const Attribute& other) = default;
  Attribute& operator=(const Attribute& other) = default;
  LEAT_CPP_COLD ~Attribute() = default;
  std::string name;
  AttrValue value;
};

LEAT_CPP_END_NAMESPACE

#endif  // LEAT_CPP_ATTRIBUTE_HPP_
