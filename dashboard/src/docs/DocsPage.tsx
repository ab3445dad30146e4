import { Accordion, Anchor, Text, Title, Typography } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Fragment } from "react";
import { Link, useSearchParams } from "react-router";
import type { KeyframeClient } from "../../../client/index.ts";
import { type CallPlatform, useServices } from "../services.ts";
import { useSession } from "../session/use-session.ts";
import { CopyButton } from "../ui/CopyButton.tsx";
import { ErrorNotice } from "../ui/messages.tsx";
import { PageHead } from "../ui/page-parts.tsx";
import { type ApiDocument, followReferences } from "./api-document.ts";
import classes from "./docs.module.css";
import { GUIDES } from "./guides.ts";
import { OperationPanel, Sentences } from "./OperationPanel.tsx";

/** The API reference, made of the service's own openapi.json. */
export function Component() {
  const { config, callPlatform } = useServices();
  const address = `${config.supabaseUrl}/functions/v1/api/openapi.json`;
  const { data, error, refetch } = useQuery({
    queryKey: ["openapi", address],
    queryFn: ({ signal }) => readDocument(callPlatform, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: Number.POSITIVE_INFINITY,
  });
  return (
    <>
      <PageHead
        title="Docs"
        text="Every operation of the API. The commands run in a shell and have your identifiers."
        actions={<CopyButton text={address} label="Copy URL of openapi.json" />}
      />
      <Text size="sm" mb="sm">
        Guides:{" "}
        {Object.entries(GUIDES).map(([name, { title }], at) => (
          <Fragment key={name}>
            {at > 0 && " · "}
            <Anchor inherit underline="always" component={Link} to={`/docs/${name}`}>
              {title}
            </Anchor>
          </Fragment>
        ))}
      </Text>
      {error !== null && data === undefined && (
        <ErrorNotice title="Could not load the API reference" error={error} onRetry={() => void refetch()} />
      )}
      {data !== undefined && <Reference document={data} />}
    </>
  );
}

function Reference({ document }: { document: ApiDocument }) {
  const { config, keyframe } = useServices();
  const { session } = useSession();
  const [search, setSearch] = useSearchParams();
  const { data: own = {} } = useQuery({
    queryKey: ["own-identifiers"],
    queryFn: ({ signal }) => readOwn(keyframe, signal),
  });
  const places = Object.entries({ ...document.paths, ...document.webhooks }).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  const opened = search.get("operation");
  const open = (operation: string | null) => setSearch(operation === null ? {} : { operation }, { replace: true });
  return (
    <>
      <Typography fz="sm">
        <Sentences text={document.info.description} />
        <p>
          The commands have the identifiers of your latest film, endpoint and delivery. A word in capitals, such as
          PROJECT_ID, stands for one that you do not have yet, or that you have to choose because it will be deleted.
        </p>
        <details>
          <summary>Credentials</summary>
          {Object.entries(document.components.securitySchemes).map(([name, { description }]) => (
            <Sentences key={name} text={`\`${name}\`: ${description}`} />
          ))}
        </details>
      </Typography>
      {document.tags.map(({ name, description }) => (
        <section key={name}>
          <Title order={2} size="h4" mt="lg">
            {name}
          </Title>
          <Typography fz="sm" c="dimmed">
            <Sentences text={description} />
          </Typography>
          <Accordion value={opened} onChange={open} order={3} transitionDuration={0}>
            {places
              .filter(({ operation }) => operation.tags.includes(name))
              .map(({ path, method, operation }) => (
                <Accordion.Item key={operation.operationId} value={operation.operationId}>
                  <Accordion.Control className={classes.label}>
                    <code>
                      {method.toUpperCase()} {path}
                    </code>{" "}
                    {operation.summary}
                  </Accordion.Control>
                  <Accordion.Panel>
                    {opened === operation.operationId && (
                      <OperationPanel
                        {...{ method, operation, own }}
                        address={`${config.supabaseUrl}/functions/v1${path}`}
                        token={session?.access_token ?? ""}
                      />
                    )}
                  </Accordion.Panel>
                </Accordion.Item>
              ))}
          </Accordion>
        </section>
      ))}
    </>
  );
}

async function readDocument(callPlatform: CallPlatform, signal: AbortSignal): Promise<ApiDocument> {
  const document = await callPlatform("/functions/v1/api/openapi.json", { signal });
  if (typeof document !== "object" || document === null || !("paths" in document))
    throw new Error("The service's openapi.json is not an OpenAPI document. Check config.json.");
  return followReferences(document, document) as ApiDocument; // made of the same contract, and tested against the standard
}

/** Of the project with the most steps among the latest, of the latest endpoint that is enabled, and of any that has a delivery. */
async function readOwn(keyframe: KeyframeClient, signal: AbortSignal) {
  const [{ projects }, { webhooks }, { films }] = await Promise.all([
    keyframe.listProjects({ include: "predictions" }, { signal }),
    keyframe.webhooks.list({ signal }),
    keyframe.films.list({ limit: 1 }, { signal }),
  ]);
  const latestOf = ({ predictions }: (typeof projects)[number]) =>
    Object.values(predictions ?? {}).filter((latest) => latest !== null);
  const [shot] = projects.toSorted((one, other) => latestOf(other).length - latestOf(one).length);
  const takes = shot && (await keyframe.readProject(shot.projectId, { signal })).takes;
  const latest = shot === undefined ? [] : latestOf(shot);
  const lists = await Promise.all(
    webhooks.map(({ webhookId }) => keyframe.webhooks.deliveries(webhookId, { limit: 1 }, { signal })),
  );
  return {
    projectId: shot?.projectId,
    filmId: films[0]?.filmId,
    firstFrameId: takes?.["first-frame"]?.predictionId,
    lastFrameId: takes?.["last-frame"]?.predictionId,
    videoId: takes?.video?.predictionId,
    webhookId: webhooks.find(({ enabled }) => enabled)?.webhookId,
    deliveryId: lists.find(({ deliveries }) => deliveries.length > 0)?.deliveries[0]?.deliveryId,
    referenceImagePath:
      latest.find(({ input }) => input.referenceImagePath !== null)?.input.referenceImagePath ?? undefined,
  };
}
