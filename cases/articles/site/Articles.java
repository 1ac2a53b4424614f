import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import javax.sql.DataSource;

/**
 * The magazine: one process that takes a connection from the pool, asks the database, and renders a page. It remembers
 * no answer of the database.
 */
public final class Articles {
    /** Bytes of the two kinds of page; the article's text fills what the lists leave. */
    private static final int PAGE = 18_800;
    private static final int SHORT = 933;

    /** More than the pool has connections: a thread that waits for one costs little. */
    private static final int THREADS = 200;
    private static final int BACKLOG = 4_096;

    private static final String ARTICLE = """
        SELECT article.title, article.lead, article.body, article.published, article.section, section.name, author.name
        FROM article JOIN section ON section.id = article.section JOIN author ON author.id = article.author
        WHERE article.id = ?""";

    /** Of the same section, those that were read most in two weeks. */
    private static final String MOST_READ = """
        SELECT article.id, article.title, sum(reading.readers) AS readers
        FROM article JOIN reading ON reading.article = article.id
        WHERE article.section = ? AND reading.day >= date '2003-12-18'
        GROUP BY article.id ORDER BY readers DESC, article.id LIMIT 10""";

    /** Those that share most keywords with it. */
    private static final String RELATED = """
        SELECT article.id, article.title, count(*) AS shared
        FROM keyword JOIN keyword AS other ON other.word = keyword.word AND other.article <> keyword.article
        JOIN article ON article.id = other.article
        WHERE keyword.article = ?
        GROUP BY article.id ORDER BY shared DESC, article.published DESC, article.id LIMIT 10""";

    private static final String COMMENTS = """
        SELECT reader, written, body FROM comment WHERE article = ? ORDER BY written DESC LIMIT 10""";

    private final DataSource database;

    private Articles(DataSource database) {
        this.database = database;
    }

    public static void main(String[] arguments) throws IOException {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:postgresql://127.0.0.1:" + System.getenv("ARTICLES_DATABASE_PORT") + "/articles");
        config.setUsername("articles");
        config.setMaximumPoolSize(Integer.parseInt(System.getenv("ARTICLES_POOL")));
        Articles articles = new Articles(new HikariDataSource(config));
        InetSocketAddress address = new InetSocketAddress("127.0.0.1", Integer.parseInt(System.getenv("ARTICLES_PORT")));
        HttpServer server = HttpServer.create(address, BACKLOG);
        server.setExecutor(Executors.newFixedThreadPool(THREADS));
        server.createContext("/health", exchange -> answer(exchange, 200, "text/plain", "well"));
        server.createContext("/articles/", exchange -> articles.page(exchange, "/articles/", PAGE));
        server.createContext("/short/", exchange -> articles.page(exchange, "/short/", SHORT));
        server.start();
    }

    private void page(HttpExchange exchange, String prefix, int length) throws IOException {
        try {
            int id = Integer.parseInt(exchange.getRequestURI().getPath().substring(prefix.length()));
            String page = render(id, length);
            if (page != null) {
                answer(exchange, 200, "text/html; charset=utf-8", page);
                return;
            }
        } catch (NumberFormatException error) {
            // No article has such a name.
        } catch (SQLException error) {
            answer(exchange, 503, "text/plain", "the database did not answer");
            return;
        }
        answer(exchange, 404, "text/plain", "no such article");
    }

    /** The whole page in so many bytes; null when there is no such article. */
    private String render(int id, int length) throws SQLException {
        String title;
        String lead;
        String body;
        String by;
        List<String> mostRead;
        List<String> related;
        List<String> comments;
        try (Connection connection = database.getConnection()) {
            int section;
            try (PreparedStatement statement = connection.prepareStatement(ARTICLE)) {
                statement.setInt(1, id);
                ResultSet row = statement.executeQuery();
                if (!row.next()) {
                    return null;
                }
                title = row.getString(1);
                lead = row.getString(2);
                body = row.getString(3);
                section = row.getInt(5);
                by = row.getString(7) + ", " + row.getString(6) + ", " + row.getDate(4);
            }
            mostRead = list(connection, MOST_READ, section, "<a href=\"/articles/%s\">%s</a> %s readers");
            related = list(connection, RELATED, id, "<a href=\"/articles/%s\">%s</a> %s keywords");
            comments = list(connection, COMMENTS, id, "%s, %s: %s");
        }
        if (length == SHORT) {
            String head = "<!doctype html><title>" + escape(title) + "</title><p>" + escape(by) + "<p>"
                + mostRead.get(0) + "<p>" + related.get(0) + "<p>" + comments.size() + " comments<p>";
            return filled(head, lead + body, "\n", length);
        }
        String head = "<!doctype html>\n<html><head><title>" + escape(title) + "</title></head><body>\n<h1>" + escape(title)
            + "</h1>\n<p>" + escape(by) + "</p>\n<p><b>" + escape(lead) + "</b></p>\n<p>";
        String foot = "</p>\n" + section("Most read", mostRead) + section("Related", related)
            + section("Comments", comments) + "</body></html>\n";
        return filled(head, body, foot, length);
    }

    private static List<String> list(Connection connection, String query, int argument, String format)
            throws SQLException {
        List<String> lines = new ArrayList<>();
        try (PreparedStatement statement = connection.prepareStatement(query)) {
            statement.setInt(1, argument);
            ResultSet row = statement.executeQuery();
            while (row.next()) {
                lines.add(String.format(format, escape(row.getString(1)), escape(row.getString(2)), escape(row.getString(3))));
            }
        }
        return lines;
    }

    private static String section(String title, List<String> lines) {
        return "<h2>" + title + "</h2>\n<ul>\n<li>" + String.join("</li>\n<li>", lines) + "</li>\n</ul>\n";
    }

    /** Everything is ASCII: a character is a byte. */
    private static String filled(String head, String text, String foot, int length) {
        int room = length - head.length() - foot.length();
        String escaped = escape(text);
        return head + escaped.substring(0, room) + foot;
    }

    private static String escape(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\"", "&quot;");
    }

    private static void answer(HttpExchange exchange, int status, String type, String text) throws IOException {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        exchange.getResponseHeaders().set("Content-Type", type);
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }
}
