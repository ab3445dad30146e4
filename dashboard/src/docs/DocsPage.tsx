import { Stack } from "@mantine/core";
import { useServices } from "../app/services-context.ts";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import { PageHead } from "../ui/PageHead.tsx";
import { DocsSkeleton } from "./DocsSkeleton.tsx";
import { DocumentActions } from "./DocumentActions.tsx";
import { Reference } from "./Reference.tsx";
import { documentAddress, useDocument } from "./use-document.ts";

/** The reference of the API, as the service describes itself. */
export function Component() {
  const { config } = useServices();
  const { data: document, error, refetch } = useDocument();
  return (
    <>
      <PageHead
        title="Docs"
        text="Every operation of the API, with examples for your own project."
        actions={<DocumentActions address={documentAddress(config.supabaseUrl)} document={document} />}
      />
      <Stack gap="lg">
        {error !== null && document === undefined && (
          <ErrorNotice title="The reference could not be read" error={error} onRetry={() => void refetch()} />
        )}
        {document === undefined && error === null && <DocsSkeleton />}
        {document !== undefined && <Reference document={document} />}
      </Stack>
    </>
  );
}
