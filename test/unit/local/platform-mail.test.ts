import { describe, expect, test } from "vitest";
import { callMail, mailPage } from "../../../local/platform/mail-page.ts";

const AT = new Date("2026-05-04T03:02:01Z");

function ask(path: string, init: RequestInit & { host?: string } = {}) {
  const url = new URL(path, `http://${init.host ?? "127.0.0.1"}:54321`);
  return callMail(new Request(url, init), url, []);
}

describe("the page", () => {
  test.each([
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "https://evil.example/\"onmouseover='alert(1)",
    "javascript:alert(1)",
    "https://evil.example/<script>alert(1)</script>",
    "&lt;script&gt;",
  ])("%s in text, subject or address of a mail → shown as text", (evil) => {
    const page = String(mailPage([{ to: evil, subject: evil, text: evil, at: AT }]));
    const tags = [...page.matchAll(/<([a-z]+)([^>]*)>/g)];
    expect(tags.map(([, name]) => name).filter((name) => name === "script" || name === "img")).toEqual([]);
    for (const [, name, attributes] of tags) {
      if (name === "a") expect(attributes).toMatch(/^ href="(\/mail|https:\/\/evil\.example\/)"$/);
    }
  });
});

describe("the route", () => {
  test("GET /mail → a page that may run nothing, be framed by nothing and not be cached", async () => {
    const answer = await ask("/mail");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const policy = answer.headers.get("content-security-policy");
    expect(policy).toMatch(/^default-src 'none'; style-src 'self'; /);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.headers.get("referrer-policy")).toBe("no-referrer");
  });

  test("GET /mail under a foreign host name → 403", async () => {
    expect((await ask("/mail", { host: "127.0.0.1.evil.example" })).status).toBe(403);
  });

  test("POST /mail → 405", async () => {
    const answer = await ask("/mail", { method: "POST" });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });
});
