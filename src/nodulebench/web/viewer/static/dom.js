// Access to elements of the page. Every id is in the page's template.
/**
 * The element with an id. An element that a mode of the viewer does not have is null.
 * @param {string} id
 * @returns {any}
 */
export const find = (id) => document.getElementById(id);

/**
 * A new element with properties.
 * @param {string} tag
 * @param {Record<string, unknown>} [properties]
 * @returns {any}
 */
export const create = (tag, properties = {}) => Object.assign(document.createElement(tag), properties);
