// SPDX-License-Identifier: LGPL-2.1-or-later
// C++ whose optimized code has deep chains of inlined calls, lambdas, local classes, constructors of
// several kinds, thunks and exceptions.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace shapes {

struct Shape {
	explicit Shape(std::string name) : name_(std::move(name)) {}
	virtual ~Shape() = default;
	virtual double area() const = 0;
	const std::string &name() const { return name_; }

private:
	std::string name_;
};

struct Tagged {
	virtual ~Tagged() = default;
	virtual int tag() const { return 1; }
	int padding = 3;
};

template <typename Number>
class Box : public Shape, public Tagged {
public:
	Box(Number width, Number height) : Shape("box"), width_(width), height_(height)
	{
		if (width < 0 || height < 0)
			throw std::invalid_argument("a side of " + std::to_string(width));
	}
	double area() const override { return static_cast<double>(width_ * height_); }
	int tag() const override { return 2 + padding; }

private:
	Number width_, height_;
};

namespace {

int counted;

struct Count {
	Count() { counted++; }
	~Count() { counted--; }
};

} // namespace

double total(const std::vector<std::unique_ptr<Shape>> &all)
{
	Count count;
	double sum = 0;
	std::for_each(all.begin(), all.end(), [&sum](const std::unique_ptr<Shape> &shape) {
		struct Local {
			static double twice(double value) { return value * 2; }
			__attribute__((noinline)) double half(double value) { return value / 2 + counted; }
		};
		sum += Local::twice(shape->area()) + Local().half(shape->area());
	});
	return sum;
}

} // namespace shapes

template <typename... Parts>
static std::string join(const Parts &...parts)
{
	std::ostringstream out;
	((out << parts << ' '), ...);
	return out.str();
}

static std::map<std::string, int> count_words(const std::string &text)
{
	std::map<std::string, int> words;
	std::istringstream in(text);
	for (std::string word; in >> word;)
		words[word]++;
	return words;
}

int main(int argc, char **argv)
{
	std::vector<std::unique_ptr<shapes::Shape>> all;
	std::function<int(int)> step = [argc](int value) { return value * argc + 1; };
	try {
		for (int i = 0; i < 10; i++) {
			all.push_back(std::make_unique<shapes::Box<int>>(step(i), i));
			all.push_back(std::make_unique<shapes::Box<double>>(i * 0.5, step(i) - 3));
		}
	} catch (const std::exception &e) {
		std::cerr << e.what() << '\n';
	}
	auto words = count_words(join("one", 2, "three", argv[0], 4.5, "one"));
	std::vector<std::pair<int, std::string>> sorted;
	for (auto &[word, n] : words)
		sorted.emplace_back(n, word);
	std::sort(sorted.rbegin(), sorted.rend());
	std::cout << shapes::total(all) << ' ' << sorted.front().second << '\n';
	return 0;
}
