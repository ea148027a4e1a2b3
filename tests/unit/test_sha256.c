/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/sha256.h"
#include "lib/test.h"

#include <stdio.h>
#include <string.h>

static void digest_of(const void *data, size_t n, size_t step, char hex[65])
{
	struct sha256 sha = sha256_init();
	for (size_t i = 0; i < n; i += step)
		sha256_add(&sha, (const char *)data + i, MIN(step, n - i));
	uint8_t digest[SHA256_SIZE];
	sha256_finish(&sha, digest);
	for (int i = 0; i < SHA256_SIZE; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
}

/* FIPS 180-4's examples, and the NIST vector of a million letters. */
static void gives_the_published_digests(void **state)
{
	static const struct {
		const char *text;
		const char *digest;
	} vectors[] = {
		{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
	};
	char hex[65];
	for (size_t i = 0; i < ARRAY_SIZE(vectors); i++) {
		digest_of(vectors[i].text, strlen(vectors[i].text), 64, hex);
		assert_string_equal(hex, vectors[i].digest);
	}
	_cleanup_free_ char *million = malloc(1000000);
	memset(million, 'a', 1000000);
	digest_of(million, 1000000, 1000000, hex);
	assert_string_equal(hex, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void does_not_depend_on_how_the_bytes_are_cut(void **state)
{
	uint8_t bytes[300];
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (uint8_t)(i * 7);
	for (size_t n = 0; n <= sizeof bytes; n++) {
		char whole[65], cut[65];
		digest_of(bytes, n, sizeof bytes, whole);
		digest_of(bytes, n, 1 + n % 67, cut);
		assert_string_equal(whole, cut);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_the_published_digests),
		cmocka_unit_test(does_not_depend_on_how_the_bytes_are_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
