import { afterEach, expect, test, vi } from "vitest";
import { createKeyframeClient, type KeyframeOptions } from "../../../client/index.ts";

const URL_OF_PROJECT = "https://abc.supabase.co";
const userId = "5f0c9c0e-6f0e-4c55-9b3c-0a9d9f5d3c11";
const userKey = `kf_${"0123456789abcdef".repeat(4)}01234567`;
const session = { getToken: () => null };
const asServer = { secretKey: "sb_secret_of_the_project", userId };
const EMPTY = (name: string) => new RegExp(`^${name} is empty\\. .*check that it is set\\.$`);
const URLS = [
  ...["", "abc.supabase.co", "ftp://abc.supabase.co", `${URL_OF_PROJECT}/functions/v1`],
  ...[`${URL_OF_PROJECT}/functions/v1/api/`, "https://user:secret@abc.supabase.co", `${URL_OF_PROJECT}/?apikey=1`],
];

test.each<[what: string, options: object, sentence: RegExp]>([
  [
    "a user's key as apikey",
    { ...session, apikey: userKey },
    /^apikey is the project's publishable key\. .* as userKey\.$/,
  ],
  ["a user's key as the secret key", { secretKey: userKey, userId }, /^secretKey must be .* given as userKey\.$/],
  ["a secret key as a user's", { userKey: asServer.secretKey }, /^userKey must be a key that a user made: kf_/],
  ["half of a user's key", { userKey: userKey.slice(0, 40) }, /^userKey must be a key that a user made: kf_/],
  ["a publishable key as the secret key", { ...asServer, secretKey: "sb_publishable_x" }, /^secretKey /],
  ["two users", { ...asServer, userId: `${userId}, ${userId}` }, /^userId /],
  ["no user's key", { userKey: undefined }, EMPTY("userKey")],
  ["no secret key", { ...asServer, secretKey: undefined }, EMPTY("secretKey")],
  ["an empty secret key", { ...asServer, secretKey: "" }, EMPTY("secretKey")],
  ["a user without a secret key", { userId }, EMPTY("secretKey")],
  ["no user", { ...asServer, userId: undefined }, EMPTY("userId")],
  ["an empty user", { ...asServer, userId: "" }, EMPTY("userId")],
  ["an empty publishable key", { ...session, apikey: "" }, EMPTY("apikey")],
  ["a line break in apikey", { ...session, apikey: "a\nb" }, /^apikey must be/],
  ["nobody who calls", { apikey: "sb_publishable_1" }, EMPTY("getToken")],
  ["a getToken that is not a function", { getToken: "token" }, /^getToken must be a function\.$/],
  ["-1 retries", { ...session, retries: -1 }, /^retries must be/],
  ["half a retry", { ...session, retries: 0.5 }, /^retries must be/],
  ["no time for a request", { ...session, requestTimeoutMs: 0 }, /^requestTimeoutMs must be/],
  ["no url", { ...session, url: undefined }, EMPTY("url")],
  ...URLS.map((url): [string, object, RegExp] => [
    `the url "${url}"`,
    { ...session, url },
    /url must be the project's/,
  ]),
])("%s → TypeError that names the option and what to do, and shows no key", (_, options, sentence) => {
  const create = () => createKeyframeClient({ url: URL_OF_PROJECT, ...options } as KeyframeOptions); // as JavaScript gives them
  expect(create).toThrow(TypeError);
  expect(create).toThrow(sentence);
  expect(create).not.toThrow(/0123456789|of_the_project/);
});

afterEach(() => {
  vi.unstubAllGlobals();
});

test.each([
  ["a page or its worker", { location: new URL("https://page.example") }],
  ["a React Native app", { navigator: { product: "ReactNative" } }],
])("secretKey or userKey in %s → TypeError", (_, globals) => {
  for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
  expect(() => createKeyframeClient({ url: URL_OF_PROJECT, ...asServer })).toThrow(
    new TypeError("secretKey is for servers only: in a browser or an app anyone could read it. Pass getToken."),
  );
  expect(() => createKeyframeClient({ url: URL_OF_PROJECT, userKey })).toThrow(
    /^userKey is for your own programs only: /,
  );
});
