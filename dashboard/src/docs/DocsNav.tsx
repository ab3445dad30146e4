import { Anchor, Button, Grid, Text, TextInput } from "@mantine/core";
import { useDebouncedValue, useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { Link } from "react-router";
import { IconChevronDown, IconSearch } from "../ui/icons.tsx";
import { useApiDocument } from "./api-document.ts";
import classes from "./docs.module.css";
import { anchorOf, type Guide, GUIDES, START } from "./guide-list.ts";
import { addressOf, readSections } from "./guides.ts";

/** A page of the docs next to its list. */
export const DocsPage = ({ nav, children }: { nav: ReactNode; children: ReactNode }) => (
  <Grid gap="xl">
    <Grid.Col span={{ base: 12, md: 3 }}>{nav}</Grid.Col>
    <Grid.Col span={{ base: 12, md: 9 }}>{children}</Grid.Col>
  </Grid>
);

type Place = { to: string; label: string };

const placeOf = (guide: Guide): Place => ({ to: addressOf(guide, ""), label: guide.title });
const READ = GUIDES.filter(({ group }) => group === START).map(placeOf);
const LOOK_UP = GUIDES.filter(({ group }) => group !== START).map(placeOf);

const MOST_FOUND = 12;

/** All guides and operations, or those that a search finds. `shown`: the name of the open guide. */
export function DocsNav({ shown = "" }: { shown?: string }) {
  const [isOpen, { toggle }] = useDisclosure(false);
  const [typed, setTyped] = useState("");
  const [asked] = useDebouncedValue(typed.trim().toLowerCase(), 150);
  const isAsked = asked !== "";
  const { data: reference } = useApiDocument(shown === "" || isAsked);
  const sections = useQuery({ queryKey: ["guides"], queryFn: readSections, enabled: isAsked, staleTime: Infinity });
  const words = asked.split(/\s+/);
  const isFound = (...texts: string[]) => {
    const text = texts.join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const operations = Object.entries({ ...reference?.paths, ...reference?.webhooks }).flatMap(([path, methods]) =>
    Object.values(methods).map((operation) => ({ path, operation })),
  );
  const toOperation = ({ operation: { operationId, summary } }: (typeof operations)[number]): Place => ({
    to: `/docs?operation=${operationId}`,
    label: summary,
  });
  const found = {
    guides: (sections.data ?? [])
      .filter(({ guide, heading, text }) => isFound(guide.title, heading, text))
      .map(({ guide, heading }) => ({
        to: addressOf(guide, anchorOf(heading)),
        label: heading === "" ? guide.title : `${guide.title}: ${heading}`,
      })),
    operations: operations
      .filter(({ path, operation }) => isFound(path, operation.operationId, operation.summary, operation.description))
      .map(toOperation),
  };
  const isNone = sections.data !== undefined && found.guides.length + found.operations.length === 0;
  const lists: [title: string, Place[]][] = isAsked
    ? [
        ["In the guides", found.guides.slice(0, MOST_FOUND)],
        ["In the API reference", found.operations.slice(0, MOST_FOUND)],
      ]
    : [
        ["Guides", READ],
        ...(shown === "" ? (reference?.tags ?? []) : []).map(({ name }): [string, Place[]] => [
          name,
          operations.filter(({ operation }) => operation.tags.includes(name)).map(toOperation),
        ]),
        ["Reference", [{ to: "/docs", label: "API reference" }, ...LOOK_UP]],
      ];
  /** Whether a list has operations, which a phone shows below. */
  const isOfPage = (at: number) => at > 0 && at < lists.length - 1;
  return (
    <nav aria-label="Docs" className={classes.nav}>
      <TextInput
        type="search"
        aria-label="Search the docs"
        placeholder="Search the docs"
        leftSection={<IconSearch size={16} />}
        value={typed}
        onChange={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      <Text size="sm" role="status">
        {isNone && "Nothing found."}
      </Text>
      <Button
        hiddenFrom="md"
        variant="subtle"
        size="compact-sm"
        aria-expanded={isOpen}
        rightSection={<IconChevronDown size={16} />}
        onClick={toggle}
      >
        All pages
      </Button>
      {lists.map(
        ([title, places], at) =>
          places.length > 0 && (
            <div key={title} className={isAsked || (isOpen && !isOfPage(at)) ? undefined : classes.wide}>
              <Text size="sm" fw={650} mt="sm">
                {title}
              </Text>
              <ul className="plain-list">
                {places.map(({ to, label }) => (
                  <li key={to}>
                    <Anchor
                      component={Link}
                      to={to}
                      size="sm"
                      aria-current={to === `/docs/${shown}` || (to === "/docs" && shown === "") ? "page" : undefined}
                    >
                      {label}
                    </Anchor>
                  </li>
                ))}
              </ul>
            </div>
          ),
      )}
    </nav>
  );
}
