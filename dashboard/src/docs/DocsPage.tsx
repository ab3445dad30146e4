import { Anchor, Text, useComputedColorScheme, VisuallyHidden } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Fragment, useEffect, useMemo, useRef, useState } from "react";
import { Link } from "react-router";
import SwaggerUI, {
  type ResolveSubtree,
  type SwaggerComponent,
  type WrapComponents,
} from "swagger-ui-dist/swagger-ui-es-bundle.js";
import "swagger-ui-dist/swagger-ui.css";
import type { KeyframeClient, Step } from "../../../client/index.ts";
import { SAMPLE } from "../../../shared/contract/samples.ts";
import { type CallPlatform, useServices } from "../services.ts";
import { useSession } from "../session/use-session.ts";
import { CopyButton } from "../ui/CopyButton.tsx";
import { PageHead, Unread } from "../ui/page-parts.tsx";
import { GUIDES } from "./guides.ts";
import "./docs.css";

type Example = { path?: Record<string, unknown>; query?: Record<string, unknown> };
type Body = { content: Record<string, { examples?: Record<string, unknown> }> };
type Operation = { tags?: string[]; parameters?: { name?: string }[]; requestBody?: Body; "x-examples"?: Example[] };
type ApiDocument = { tags?: { name: string }[]; paths: Record<string, Record<string, Operation>> };
/** An identifier of the examples → the reader's own. */
type Own = Partial<Record<keyof typeof SAMPLE | "activeId", string>>;

/** The API reference: Swagger UI over the service's own openapi.json, signed in as the person who reads it. */
export function Component() {
  const { config, keyframe, callPlatform } = useServices();
  const { supabaseUrl } = config;
  const address = `${supabaseUrl}/functions/v1/api/openapi.json`;
  const api = useQuery({
    queryKey: ["openapi", address],
    queryFn: ({ signal }) => readDocument(callPlatform, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });
  const { data } = api;
  const own = useQuery({
    queryKey: ["own-identifiers"],
    queryFn: ({ signal }) => readOwn(keyframe, signal),
    staleTime: Number.POSITIVE_INFINITY, // another document would close what is open
    gcTime: 0,
  });
  const { data: ids, isPending } = own;
  const spec = useMemo(
    () => (data === undefined || isPending ? undefined : prepare(data, ids ?? {}, supabaseUrl)),
    [data, ids, isPending, supabaseUrl],
  );
  return (
    <>
      <PageHead
        title="Docs"
        text="Try every operation of the API. Requests from this page use your session."
        actions={<CopyButton text={address} label="Copy URL of openapi.json" />}
      />
      <Text size="sm">
        {ids?.videoId === undefined || ids.deliveryId === undefined
          ? "The examples take your identifiers: generate a first frame, a last frame and a video, add an endpoint and send it a test, then reload. "
          : "The examples have the identifiers of your latest film, endpoint and delivery. "}
        Deleting needs one that you fill in, cancelling a prediction that runs. Guides:{" "}
        {Object.entries(GUIDES).map(([name, { title }], at) => (
          <Fragment key={name}>
            {at > 0 && " · "}
            <Anchor inherit underline="always" component={Link} to={`/docs/${name}`}>
              {title}
            </Anchor>
          </Fragment>
        ))}
      </Text>
      {data === undefined && <Unread query={api} what="the API reference" heights={[]} />}
      {spec !== undefined && <Reference document={spec} />}
    </>
  );
}

/** Swagger UI's own layout has a second main element, a title and a choice of servers. Made by its React, not ours. */
const PageLayout: SwaggerComponent = ({ getComponent, getSystem }) => {
  const { createElement } = getSystem().React;
  const parts = ["InfoContainer", "AuthorizeBtnContainer", "operations", "Webhooks"];
  return createElement(
    "div",
    { className: "swagger-ui" },
    ...parts.map((name) => createElement(getComponent(name, true))),
  );
};

/** Names for fields that have none: a screen reader would read out only their values. */
const wrapComponents: WrapComponents = {
  TextArea:
    (Original, { React }) =>
    (props) =>
      React.createElement(Original, { "aria-label": "Request body", ...props }),
  ExamplesSelect:
    (Original, { React }) =>
    (props) =>
      React.createElement("label", null, React.createElement(Original, { ...props, showLabels: true })),
};

/**
 * An operation with its references filled in. All of them are in the document. Swagger UI's own function parses the whole
 * document again for each operation that is opened, which takes most of a second.
 */
const resolveSubtree: ResolveSubtree = async (document, path) => {
  const at = (keys: string[]) => keys.reduce<unknown>((value, key) => Object(value)[key], document);
  const resolve = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(resolve);
    if (typeof value !== "object" || value === null) return value;
    if ("$ref" in value && typeof value.$ref === "string")
      return { ...Object(resolve(at(value.$ref.split("/").slice(1)))), $$ref: value.$ref }; // which names a schema
    return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, resolve(part)]));
  };
  return { spec: resolve(at(path)), errors: [] };
};

function Reference({ document: spec }: { document: object }) {
  const { session } = useSession();
  const scheme = useComputedColorScheme("light");
  const place = useRef<HTMLDivElement>(null);
  const [ui, setUi] = useState<ReturnType<typeof SwaggerUI> | null>(null);

  useEffect(() => {
    const domNode = document.createElement("div");
    place.current?.append(domNode);
    const made = SwaggerUI({
      domNode,
      spec,
      defaultModelsExpandDepth: -1,
      displayRequestDuration: true,
      tryItOutEnabled: true,
      validatorUrl: "none", // its default asks a server of Swagger's
      plugins: [() => ({ components: { PageLayout }, wrapComponents, fn: { resolveSubtree } })],
      layout: "PageLayout",
      onComplete: () => setUi(() => made),
    });
    return () => domNode.remove();
  }, [spec]);

  useEffect(() => {
    if (session !== null) ui?.preauthorizeApiKey("session", session.access_token);
  }, [ui, session]);

  useEffect(() => {
    const { classList } = document.documentElement;
    classList.toggle("dark-mode", scheme === "dark"); // Swagger UI's switch
    return () => classList.remove("dark-mode");
  }, [scheme]);

  return (
    <>
      <VisuallyHidden component="h2">Operations</VisuallyHidden>
      <div ref={place} />
    </>
  );
}

async function readDocument(callPlatform: CallPlatform, signal: AbortSignal): Promise<ApiDocument> {
  const document = await callPlatform("/functions/v1/api/openapi.json", { signal });
  if (typeof document !== "object" || document === null || !("paths" in document))
    throw new Error("The service's openapi.json is not an OpenAPI document. Check config.json.");
  return document as ApiDocument; // made of the same contract, and tested against the standard
}

/** Of the project with the most steps among the latest, of the latest endpoint that is enabled, and of any that has a delivery. */
async function readOwn(keyframe: KeyframeClient, signal: AbortSignal): Promise<Own> {
  const [{ projects }, { webhooks }, { films }] = await Promise.all([
    keyframe.listProjects({ include: "predictions" }, { signal }),
    keyframe.webhooks.list({ signal }),
    keyframe.films.list({ limit: 1 }, { signal }),
  ]);
  const steps = ({ predictions }: (typeof projects)[number]) =>
    Object.values(predictions ?? {}).filter((latest) => latest !== null).length;
  const [shot] = projects.toSorted((one, other) => steps(other) - steps(one));
  const runs = shot && (await keyframe.listPredictions(shot.projectId, { limit: 100 }, { signal })).predictions;
  const done = (step: Step) => runs?.find((run) => run.step === step && run.status === "succeeded")?.predictionId;
  const active = runs?.find(({ status }) => ["queued", "starting", "processing"].includes(status));
  const webhookId = webhooks.find(({ enabled }) => enabled)?.webhookId;
  let deliveryId: string | undefined;
  for (const one of webhooks) {
    if (deliveryId !== undefined) break;
    const { deliveries } = await keyframe.webhooks.deliveries(one.webhookId, { limit: 1 }, { signal });
    deliveryId = deliveries[0]?.deliveryId;
  }
  return defined({
    projectId: shot?.projectId,
    filmId: films[0]?.filmId,
    firstFrameId: done("first-frame"),
    lastFrameId: done("last-frame"),
    videoId: done("video"),
    activeId: active?.predictionId,
    webhookId,
    deliveryId,
    referenceImagePath:
      runs?.find(({ input }) => input.referenceImagePath !== null)?.input.referenceImagePath ?? undefined,
  });
}

const defined = (ids: Record<string, string | undefined>): Own =>
  Object.fromEntries(Object.entries(ids).filter(([, id]) => id !== undefined));

/** Requests go to this dashboard's project. The examples have the reader's own identifiers; a field without one stays empty. */
function prepare(document: ApiDocument, { activeId, ...own }: Own, supabaseUrl: string): object {
  const samples = Object.entries(own).map(([name, id]) => [SAMPLE[name as keyof typeof SAMPLE], id] as const);
  const replace = (text: string) => samples.reduce((filled, [sample, id]) => filled.replaceAll(sample, id), text);
  const text = JSON.stringify(document, (name, value: unknown) =>
    name === "/api/projects/generate/cancel" && activeId !== undefined
      ? JSON.parse(JSON.stringify(value).replaceAll(SAMPLE.videoId, activeId))
      : value,
  );
  const filled: ApiDocument = JSON.parse(replace(text));
  const unknown = new Set<unknown>(Object.values(SAMPLE));
  const isOwn = (example: unknown) => !Object.values(SAMPLE).some((sample) => JSON.stringify(example).includes(sample));
  const operations = Object.values(filled.paths).flatMap((path) => Object.entries(path));
  // Swagger UI lists the events at the end: their tag, which has no operation, is their heading.
  const used = new Set(operations.flatMap(([, { tags = [] }]) => tags));
  const tags = filled.tags?.toSorted((one, other) => Number(used.has(other.name)) - Number(used.has(one.name)));
  for (const [method, operation] of operations) {
    const [first] = operation["x-examples"] ?? [];
    const values = new Map(Object.entries({ ...first?.path, ...first?.query }));
    for (const parameter of operation.parameters ?? []) {
      const value = values.get(parameter.name ?? "");
      // One click deletes for good: which, is for the reader to say.
      if (value !== undefined && !unknown.has(value) && method !== "delete")
        Object.assign(parameter, { example: value });
    }
    const json = operation.requestBody?.content["application/json"];
    const known = Object.entries(json?.examples ?? {}).filter(([, example]) => isOwn(example));
    if (json !== undefined && known.length > 0) json.examples = Object.fromEntries(known);
  }
  return { ...filled, tags, servers: [{ url: `${supabaseUrl}/functions/v1` }] };
}
