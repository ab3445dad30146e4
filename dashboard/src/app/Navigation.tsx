import { NavLink as MantineNavLink } from "@mantine/core";
import { IconBook2, IconMovie, IconWebhook } from "@tabler/icons-react";
import { Link, useLocation } from "react-router";

const PAGES = [
  { to: "/projects", label: "Projects", Icon: IconMovie },
  { to: "/webhooks", label: "Webhooks", Icon: IconWebhook },
  { to: "/docs", label: "Docs", Icon: IconBook2 },
];

/** The links to the pages, the present one marked. */
export function Navigation() {
  const { pathname } = useLocation();
  return PAGES.map(({ to, label, Icon }) => {
    const isHere = pathname === to || pathname.startsWith(`${to}/`);
    return (
      <MantineNavLink
        key={to}
        component={Link}
        to={to}
        label={label}
        active={isHere}
        aria-current={isHere ? "page" : undefined}
        leftSection={<Icon size={18} stroke={1.6} aria-hidden />}
        style={{ borderRadius: "var(--mantine-radius-md)" }}
      />
    );
  });
}
