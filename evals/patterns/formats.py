"""Keys as providers make them, by chance: from what is publicly known of their prefixes, lengths, alphabets and checksums.

Written without looking at the shipped library, so that a format which the library has wrong is missed here. All values
are made up from a seed; none was ever a key.
"""

# ruff: noqa: E501 - tables: a text a line
from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Callable, Mapping
from random import Random

DIGITS = "0123456789"
LOWER = "abcdefghijklmnopqrstuvwxyz"
UPPER = LOWER.upper()
HEX = "0123456789abcdef"
ALNUM = DIGITS + UPPER + LOWER
URL_SAFE = ALNUM + "-_"
BASE64 = ALNUM + "+/"
BASE32 = UPPER + "234567"

Maker = Callable[[Random], str]


def some(chance: Random, alphabet: str, length: int) -> str:
    """Characters by chance."""
    return "".join(chance.choice(alphabet) for _ in range(length))


def _of(*parts: str | tuple[str, int]) -> Maker:
    """Literals, and ``(alphabet, length)`` for what chance fills in."""

    def make(chance: Random) -> str:
        return "".join(part if isinstance(part, str) else some(chance, *part) for part in parts)

    return make


def _base62(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 62)
        digits = ALNUM[digit] + digits
    return digits.rjust(6, "0")


def _with_crc(prefix: str) -> Maker:
    """30 characters and the CRC-32 of them in base 62, as GitHub and npm do."""

    def make(chance: Random) -> str:
        body = some(chance, ALNUM, 30)
        return prefix + body + _base62(zlib.crc32(body.encode()))

    return make


def uuid(chance: Random) -> str:
    """A random UUID of version 4."""
    digits = some(chance, HEX, 32)
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{chance.choice('89ab')}{digits[17:20]}-{digits[20:]}"


def url_base64(data: bytes) -> str:
    """Base64 for addresses, without padding."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def jwt(chance: Random) -> str:
    """A signed JSON Web Token (RFC 7519) with claims as servers write them."""
    algorithm, size = chance.choice([("HS256", 32), ("RS256", 256), ("ES256", 64), ("EdDSA", 64)])
    claims = {"sub": some(chance, DIGITS, 9), "iat": 1_700_000_000 + chance.randrange(10**7), "scope": "read write"}
    head = json.dumps({"alg": algorithm, "typ": "JWT"}, separators=(",", ":"))
    parts = [head.encode(), json.dumps(claims, separators=(",", ":")).encode(), chance.randbytes(size)]
    return ".".join(map(url_base64, parts))


def _der(tag: int, content: bytes) -> bytes:
    size = len(content)
    length = bytes([size]) if size < 128 else bytes([0x82, size >> 8, size & 255])
    return bytes([tag]) + length + content


def private_key(chance: Random) -> str:
    """A PEM block whose inside has the structure of an RSA, EC or PKCS#8 key; its numbers are no primes."""
    kind = chance.choice(["RSA PRIVATE KEY", "PRIVATE KEY", "EC PRIVATE KEY"])

    def whole(size: int) -> bytes:
        return _der(2, bytes([chance.randrange(1, 128)]) + chance.randbytes(size - 1))

    rsa = _der(
        0x30, b"".join([_der(2, b"\0"), whole(256), _der(2, b"\1\0\1"), *map(whole, (256, 128, 128, 128, 128, 128))])
    )
    if kind == "PRIVATE KEY":
        algorithm = _der(0x30, bytes.fromhex("06092a864886f70d0101010500"))
        data = _der(0x30, _der(2, b"\0") + algorithm + _der(4, rsa))
    elif kind == "EC PRIVATE KEY":
        curve = _der(0xA0, bytes.fromhex("06082a8648ce3d030107"))
        data = _der(0x30, _der(2, b"\1") + _der(4, chance.randbytes(32)) + curve)
    else:
        data = rsa
    text = base64.b64encode(data).decode()
    lines = [text[at : at + 64] for at in range(0, len(text), 64)]
    return "\n".join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"])


def _aws_id(chance: Random) -> str:
    # The account's number stands in the 5 bytes behind the prefix, so any base32 text has one.
    return chance.choice(["AKIA", "ASIA"]) + chance.choice("QRSTUVWXYZ234567") + some(chance, BASE32, 15)


def _discord(chance: Random) -> str:
    account = base64.b64encode(str(chance.randrange(10**17, 10**18)).encode()).decode().rstrip("=")
    return f"{account}.{'G' + some(chance, URL_SAFE, 5)}.{some(chance, URL_SAFE, 38)}"


def _base58check(chance: Random) -> str:
    alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
    data = b"\x80" + chance.randbytes(32) + b"\x01"
    data += hashlib.sha256(hashlib.sha256(data).digest()).digest()[:4]
    number, text = int.from_bytes(data), ""
    while number:
        number, digit = divmod(number, 58)
        text = alphabet[digit] + text
    return text


FORMATS: Mapping[str, Maker] = {
    "GitHub, classic": _with_crc("ghp_"),
    "GitHub, OAuth": _with_crc("gho_"),
    "GitHub, user to server": _with_crc("ghu_"),
    "GitHub, installation": _with_crc("ghs_"),
    "GitHub, refresh": lambda chance: "ghr_" + some(chance, ALNUM, 70) + _base62(chance.getrandbits(32)),
    "GitHub, fine-grained": _of("github_pat_", (ALNUM, 22), "_", (ALNUM, 59)),
    "GitLab, personal": _of("glpat-", (URL_SAFE, 20)),
    "GitLab, routable": _of("glpat-", (URL_SAFE, 27), ".01.", (DIGITS + LOWER, 9)),
    "GitLab, deploy": _of("gldt-", (URL_SAFE, 20)),
    "GitLab, runner": _of("glrt-", (URL_SAFE, 20)),
    "GitLab, trigger": _of("glptt-", (HEX, 40)),
    "npm": _with_crc("npm_"),
    "PyPI": _of("pypi-AgEIcHlwaS5vcmc", (URL_SAFE, 150)),
    "RubyGems": _of("rubygems_", (HEX, 48)),
    "crates.io": _of("cio", (ALNUM, 32)),
    "NuGet": _of("oy2", (DIGITS + LOWER, 43)),
    "Docker Hub": _of("dckr_pat_", (URL_SAFE, 27)),
    "AWS access key": _aws_id,
    "AWS secret": lambda chance: "aws_secret_access_key = " + some(chance, BASE64, 40),
    "AWS session": lambda chance: "aws_session_token = IQoJb3JpZ2luX2Vj" + some(chance, BASE64, 320) + "==",
    "Google, API key": _of("AIzaSy", (URL_SAFE, 33)),
    "Google, OAuth secret": _of("GOCSPX-", (URL_SAFE, 28)),
    "Google, access token": _of("ya29.a0A", (URL_SAFE, 170)),
    "Azure, storage": lambda chance: (
        "DefaultEndpointsProtocol=https;AccountName=shopdata;AccountKey="
        + some(chance, BASE64, 86)
        + "==;EndpointSuffix=core.windows.net"
    ),
    "Azure, client secret": _of((ALNUM, 3), "8Q~", (ALNUM + "-_.~", 34)),
    "DigitalOcean": _of("dop_v1_", (HEX, 64)),
    "Heroku": lambda chance: "HRKU-" + uuid(chance),
    "Cloudflare, origin CA": _of("v1.0-", (HEX, 24), "-", (HEX, 146)),
    "Fly.io": lambda chance: "FlyV1 fm2_" + some(chance, BASE64, 180),
    "Supabase": _of("sbp_", (HEX, 40)),
    "PlanetScale": _of("pscale_tkn_", (URL_SAFE, 43)),
    "Databricks": _of("dapi", (HEX, 32)),
    "HashiCorp Vault": _of("hvs.", (URL_SAFE, 90)),
    "Terraform Cloud": _of((ALNUM, 14), ".atlasv1.", (ALNUM, 67)),
    "Doppler": _of("dp.pt.", (ALNUM, 43)),
    "Pulumi": _of("pul-", (HEX, 40)),
    "age": _of("AGE-SECRET-KEY-1", ("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),
    "OpenAI, project": _of("sk-proj-", (URL_SAFE, 74), "T3BlbkFJ", (URL_SAFE, 74)),
    "OpenAI, old": _of("sk-", (ALNUM, 20), "T3BlbkFJ", (ALNUM, 20)),
    "Anthropic": _of("sk-ant-api03-", (URL_SAFE, 93), "AA"),
    "Hugging Face": _of("hf_", (UPPER + LOWER, 34)),
    "Groq": _of("gsk_", (ALNUM, 52)),
    "Replicate": _of("r8_", (ALNUM, 37)),
    "Perplexity": _of("pplx-", (ALNUM, 48)),
    "xAI": _of("xai-", (ALNUM, 80)),
    "OpenRouter": _of("sk-or-v1-", (HEX, 64)),
    "LangSmith": _of("lsv2_pt_", (HEX, 32), "_", (HEX, 10)),
    "NVIDIA": _of("nvapi-", (URL_SAFE, 64)),
    "Pinecone": _of("pcsk_", (ALNUM, 6), "_", (ALNUM, 63)),
    "Slack, bot": _of("xoxb-", (DIGITS, 12), "-", (DIGITS, 13), "-", (ALNUM, 24)),
    "Slack, user": _of("xoxp-", (DIGITS, 12), "-", (DIGITS, 12), "-", (DIGITS, 13), "-", (HEX, 32)),
    "Slack, app": _of("xapp-1-A", (DIGITS + UPPER, 10), "-", (DIGITS, 13), "-", (HEX, 64)),
    "Slack, webhook": _of(
        "https://hooks.slack.com/services/T", (DIGITS + UPPER, 8), "/B", (DIGITS + UPPER, 10), "/", (ALNUM, 24)
    ),
    "Discord, bot": _discord,
    "Discord, webhook": _of("https://discord.com/api/webhooks/1", (DIGITS, 18), "/", (URL_SAFE, 68)),
    "Telegram": lambda chance: f"{chance.randrange(10**9, 8 * 10**9)}:AA{some(chance, URL_SAFE, 33)}",
    "Twilio, key": _of("SK", (HEX, 32)),
    "SendGrid": _of("SG.", (URL_SAFE, 22), ".", (URL_SAFE, 43)),
    "Mailgun": _of("key-", (HEX, 32)),
    "Mailchimp": _of((HEX, 32), "-us1", ("0123456789", 1)),
    "Postman": _of("PMAK-", (HEX, 24), "-", (HEX, 34)),
    "Stripe, live": _of("sk_live_51", (ALNUM, 97)),
    "Stripe, old": _of("sk_live_", (ALNUM, 24)),
    "Stripe, restricted": _of("rk_live_51", (ALNUM, 97)),
    "Stripe, webhook": _of("whsec_", (ALNUM, 32)),
    "Square": _of("EAAAl", (URL_SAFE, 59)),
    "Shopify": _of("shpat_", (HEX, 32)),
    "Razorpay": lambda chance: f"razorpay_key_secret={some(chance, ALNUM, 24)}  # rzp_live_{some(chance, ALNUM, 14)}",
    "Bitcoin, WIF": _base58check,
    "Sentry": _of("sntryu_", (HEX, 64)),
    "Grafana, service account": lambda chance: (
        (body := some(chance, ALNUM, 32)) and f"glsa_{body}_{zlib.crc32(body.encode()):08x}"
    ),
    "New Relic": _of("NRAK-", (DIGITS + UPPER, 27)),
    "Datadog": lambda chance: "DD_API_KEY=" + some(chance, HEX, 32),
    "PagerDuty": lambda chance: "PAGERDUTY_TOKEN=" + "u+" + some(chance, ALNUM + "_-", 18),
    "Notion": _of("ntn_", (DIGITS, 11), (ALNUM, 35)),
    "Linear": _of("lin_api_", (ALNUM, 40)),
    "Figma": _of("figd_", (URL_SAFE, 40)),
    "Airtable": _of("pat", (ALNUM, 14), ".", (HEX, 64)),
    "HubSpot": lambda chance: "pat-na1-" + uuid(chance),
    "Dropbox": _of("sl.u.", (URL_SAFE, 140)),
    "Atlassian": lambda chance: "ATATT3xFfGF0" + some(chance, URL_SAFE, 170) + "=" + f"{chance.getrandbits(32):08X}",
    "Asana": _of("2/12", (DIGITS, 14), "/12", (DIGITS, 14), ":", (HEX, 32)),
    "ClickUp": _of("pk_", (DIGITS, 8), "_", (DIGITS + UPPER, 32)),
    "Mapbox": lambda chance: (
        "sk."
        + url_base64(json.dumps({"u": "shop", "a": some(chance, LOWER, 25)}).encode())
        + "."
        + some(chance, URL_SAFE, 22)
    ),
    "Algolia": lambda chance: "ALGOLIA_ADMIN_KEY=" + some(chance, HEX, 32),
    "1Password": _of("ops_eyJ", (ALNUM, 300)),
    "JWT": jwt,
    "private key": private_key,
}
"""By provider. Some need the words around them, as nothing in their own text tells what they are."""
