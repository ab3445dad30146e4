import { TextInput } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { IconSearch, IconSearchOff } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import { useServices } from "../app/services-context.ts";
import { EmptyState } from "../ui/EmptyState.tsx";
import { DocsContext, type Language } from "./docs-context.ts";
import { FirstCall } from "./FirstCall.tsx";
import { filterOperations, hasWords } from "./filter-operations.ts";
import type { ApiDocument } from "./open-api.ts";
import { byTag, operationsOf } from "./operations-of.ts";
import { SchemaGroup } from "./SchemaGroup.tsx";
import { createSampler } from "./sample-of.ts";
import { TagGroup } from "./TagGroup.tsx";
import { useOpenItems } from "./use-open-items.ts";

/** The whole reference: how to begin, then the operations by tag, then the schemas. */
export function Reference({ document }: { document: ApiDocument }) {
  const { config } = useServices();
  const [language, setLanguage] = useLocalStorage<Language>({ key: "keyframe-docs-language", defaultValue: "curl" });
  const [filter, setFilter] = useState("");
  const { open, change } = useOpenItems(() => setFilter(""));
  const operations = useMemo(() => operationsOf(document), [document]);
  const functionsUrl = `${config.supabaseUrl}/functions/v1`;
  const docs = useMemo(
    () => ({ document, functionsUrl, makeSample: createSampler(document), language, setLanguage }),
    [document, functionsUrl, language, setLanguage],
  );

  const groups = byTag(document, filterOperations(operations, filter));
  const schemas = Object.keys(document.components?.schemas ?? {}).filter((name) => hasWords(`${name} schema`, filter));
  return (
    <DocsContext value={docs}>
      <FirstCall />
      <TextInput
        type="search"
        aria-label="Filter the operations and schemas"
        placeholder="Filter: projects, POST, secret …"
        leftSection={<IconSearch size={16} aria-hidden />}
        value={filter}
        onChange={(event) => setFilter(event.currentTarget.value)}
      />
      {groups.map(([tag, found]) => (
        <TagGroup
          key={tag}
          tag={tag}
          description={document.tags?.find(({ name }) => name === tag)?.description ?? ""}
          operations={found}
          open={open}
          onChange={change}
        />
      ))}
      {schemas.length > 0 && <SchemaGroup names={schemas} open={open} onChange={change} />}
      {groups.length === 0 && schemas.length === 0 && (
        <EmptyState Icon={IconSearchOff} title="Nothing fits" text={`No operation and no schema has “${filter}”.`} />
      )}
    </DocsContext>
  );
}
