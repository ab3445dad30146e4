import { expectTypeOf, test } from "vitest";
import type { z } from "zod";
import type { ROUTES } from "../../../client/routes.ts";
import type * as Client from "../../../client/types.ts";
import type * as Contract from "../../../shared/contract/operations/index.ts";
import {
  createKeyframeClient,
  type ErrorCode,
  KeyframeError,
  mustSucceed,
  type Output,
  type Prediction,
  type Project,
} from "../../../client/index.ts";
import { useFilm, useKeyframe, usePrediction, useProject } from "../../../client/react.ts";

// The assertions are the type check's (npm run types): a line after @ts-expect-error that compiles fails it.
// Nothing here is called, so nothing is sent.
const keyframe = createKeyframeClient({ url: "https://abc.supabase.co", getToken: () => null });
const projectId = "5f0c9c0e-6f0e-4c55-9b3c-0a9d9f5d3c11";
const later = (_: () => Promise<unknown>) => undefined;

test("code that does not fit the contract → does not compile", () => {
  // @ts-expect-error a first frame has no duration
  later(() => keyframe.generate("first-frame", { projectId, durationSeconds: 5 }));
  // @ts-expect-error the project is missing
  later(() => keyframe.generate("video", {}));
  // @ts-expect-error there is no such step
  later(() => keyframe.generate("middle-frame", { projectId }));
  // @ts-expect-error an order is a list of identifiers
  later(() => keyframe.films.change(projectId, { projectIds: [{ projectId }] }));
  // @ts-expect-error there is no such field
  later(() => keyframe.projects.change(projectId, { name: "a" }));
  // @ts-expect-error a page is asked for by number
  later(() => keyframe.projects.list({ limit: "5" }));
  // @ts-expect-error there is no such event
  later(() => keyframe.webhooks.create({ url: "https://a.example", eventTypes: ["project.deleted"] }));
  // @ts-expect-error a stream could not be sent twice
  later(() => keyframe.uploadReferenceImage(new ReadableStream()));
  // @ts-expect-error a read makes nothing, so it has no key
  later(() => keyframe.projects.read(projectId, { idempotencyKey: "a" }));
  // @ts-expect-error a hook has no such step
  later(async () => usePrediction(projectId, "middle-frame"));
  // @ts-expect-error nothing is there before it is read
  later(async () => useProject(projectId).data.title);
  // @ts-expect-error initial data is what the hook reads
  later(async () => useFilm(projectId, { initialData: await keyframe.projects.read(projectId) }));
  // @ts-expect-error the hooks' client has the same types
  later(() => useKeyframe().generate("first-frame", { projectId, durationSeconds: 5 }));
  later(async () => {
    const { input } = await keyframe.predictions.read({ projectId, step: "video" });
    return keyframe.generate("video", { projectId, ...input, seed: 7 }); // a video again
  });
});

test("answers of the client → have the contract's types", () => {
  expectTypeOf(keyframe.projects.create).returns.resolves.toEqualTypeOf<Project>();
  expectTypeOf(keyframe.waitFor).returns.resolves.toEqualTypeOf<Prediction>();
  expectTypeOf(mustSucceed).returns.toHaveProperty("output").toEqualTypeOf<Output>();
  expectTypeOf<ErrorCode>().toExtend<KeyframeError["code"]>();
  // @ts-expect-error comparing with an unknown code is an error
  later(async () => new KeyframeError("timeout", "").code === "rate_limit");
});

/** The contract's operations without those for operators. */
type AppOperationId = {
  [Id in Contract.OperationId]: (typeof Contract.OPERATIONS)[Id]["tag"] extends "Service" ? never : Id;
}[Contract.OperationId];

/** The body that a caller sends: fields with a default are optional. */
type BodyInput<Id extends Contract.OperationId> = (typeof Contract.OPERATIONS)[Id] extends {
  body: infer Body extends z.ZodType;
}
  ? z.input<Body>
  : undefined;

/** Every property written out, so that types of the same shape are equal. `?: T` and `?: T | undefined` are one. */
type Plain<T> = T extends readonly (infer Item)[]
  ? Plain<Item>[]
  : T extends object
    ? { [Key in keyof T]: undefined extends T[Key] ? Plain<T[Key]> | undefined : Plain<T[Key]> }
    : T;
type NeverToUndefined<T> = [T] extends [never] ? undefined : T;
type NeverToNone<T> = [T] extends [never] ? Record<never, never> : T;

test("the client's copy of the contract → has every operation with its method, path, body, query and answer", () => {
  expectTypeOf<Client.OperationId>().toEqualTypeOf<AppOperationId>();
  expectTypeOf<typeof ROUTES>().toEqualTypeOf<{
    readonly [Id in AppOperationId]: readonly [
      (typeof Contract.OPERATIONS)[Id]["method"],
      (typeof Contract.OPERATIONS)[Id]["at"],
    ];
  }>();
  expectTypeOf<{ [Id in AppOperationId]: Plain<Client.AnswerOf<Id>> }>().toEqualTypeOf<{
    [Id in AppOperationId]: Plain<Contract.AnswerOf<Id>>;
  }>();
  expectTypeOf<{ [Id in AppOperationId]: Plain<NeverToUndefined<Client.BodyOf<Id>>> }>().toEqualTypeOf<{
    [Id in AppOperationId]: Plain<BodyInput<Id>>;
  }>();
  expectTypeOf<{ [Id in AppOperationId]: Plain<Partial<NeverToNone<Client.QueryOf<Id>>>> }>().toEqualTypeOf<{
    [Id in AppOperationId]: Plain<Partial<Contract.QueryOf<Id>>>;
  }>();
});
